// What may stand where in a task, by the schema that the service publishes.

export class TaskSchema {
  constructor(openapi) {
    this.all = openapi.components.schemas;
  }

  // actions are the action reference: name, what it does, an example and the
  // page of the demo shop that it is for.
  get actions() {
    return this.kinds(this.all.action).map((s) => ({ name: s.required[0], doc: s.description, example: s.examples[0], page: s["x-page"] }));
  }

  named(ref) {
    return this.all[ref.split("/").pop()];
  }

  // kinds are the schemas that a value may be of, references followed.
  kinds(s) {
    if (s?.$ref) return this.kinds(this.named(s.$ref));
    const several = s?.oneOf ?? s?.anyOf;
    if (!several) return s ? [s] : [];
    return several.flatMap((one) => this.kinds(one)).filter((one) => one.type !== "null");
  }

  // at goes down a path of [key, names of the object that key is in].
  at(path) {
    let here = this.kinds(this.all.Task);
    for (const [key, names] of path) {
      here = here.filter((s) => this.fits(s, names)).flatMap((s) =>
        this.kinds(typeof key === "number" ? s.prefixItems?.[key] ?? (s.items || undefined) : s.properties?.[key] ?? (typeof s.additionalProperties === "object" ? s.additionalProperties : undefined)));
    }
    return here;
  }

  // fits says whether an object with some names may be meant to be of a schema:
  // an action is known by the one name that it must have.
  fits(s, names) {
    return !s.required || !names?.length || s.required.some((n) => names.includes(n)) || !names.some((n) => n !== "options");
  }

  // keys are the names that may be added to an object.
  keys(path, names) {
    const found = new Map();
    for (const s of this.at(path)) {
      const own = s.required?.some((n) => names.includes(n));
      if (!this.fits(s, names) && !own) continue;
      for (const [name, of] of Object.entries(s.properties ?? {})) {
        if ((name === "options" && s.required || s["x-page"] && !s.required.includes(name)) && !own) continue; // it stands beside an action
        if (!names.includes(name) && !found.has(name)) found.set(name, { name, doc: of.description ?? s.description ?? "", value: this.sample(of, s, name), about: s.required?.includes(name) ? s.description : undefined });
      }
    }
    return [...found.values()];
  }

  // values are what may stand at a place, where that can be counted.
  values(path) {
    const found = new Map();
    for (const s of this.at(path)) {
      if (s.examples && s.required) found.set(s.required[0], { label: s.required[0], value: s.examples[0], doc: s.description });
      for (const v of s.enum ?? (s.const !== undefined ? [s.const] : [])) found.set(v, { label: JSON.stringify(v), value: v, doc: s.description });
      if (s.type === "boolean") for (const v of [true, false]) found.set(v, { label: String(v), value: v, doc: s.description });
    }
    return [...found.values()];
  }

  // sample is a value to begin with.
  sample(s, parent, name) {
    const example = parent?.examples?.[0]?.[name];
    if (example !== undefined) return example;
    if (s.default !== undefined) return s.default;
    const [first] = this.kinds(s);
    switch (Array.isArray(first?.type) ? first.type[0] : first?.type) {
      case "object": return {};
      case "array": return [];
      case "boolean": return true;
      case "integer":
      case "number": return first.minimum ?? 1000;
      default: return first?.enum?.[0] ?? "";
    }
  }
}
