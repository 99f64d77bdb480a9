// Links for colleagues: made, listed, revoked.

import { get, post, remove } from "./api.js";
import { copy, failed, fill, h, rows, say, text } from "./dom.js";
import { workers } from "./feed.js";
import { shortID, until } from "./format.js";

const lives = [[15, "15 minutes"], [60, "1 hour"], [480, "8 hours"], [1440, "24 hours"]];

// share asks for how long a link is to live, makes it and shows it.
export function share(object, name, onMade) {
  const said = h("div");
  const label = h("input", { id: "link-label", maxlength: "100", autocomplete: "off", placeholder: "For whom" });
  const ttl = h("select", { id: "link-ttl" }, lives.map(([m, s]) => h("option", { value: m, selected: m === 60 }, s)));
  const dialog = h("dialog", { "aria-labelledby": "share-title", onclose: () => dialog.remove() });
  const submit = async (e) => {
    e.preventDefault();
    try {
      const body = { object, ttl: Number(ttl.value) * 60_000 };
      if (label.value.trim()) body.label = label.value.trim();
      const made = await post("/v1/links", body);
      const address = new URL(made.path, location.origin).href;
      fill(dialog, h("div", { class: "stack" }, h("h2", { id: "share-title" }, "The link"),
        h("code", { class: "secret", id: "link" }, address),
        h("p", { class: "small soft" }, `Anyone with this link can watch, and do nothing else. The link ends ${until(made.expiresAt)}, when you revoke it, or when the service stops. Copy it now: it is not shown again.`),
        h("div", { class: "tools" }, h("button", { onclick: () => dialog.close() }, "Close"),
          h("button", { class: "main", autofocus: true, onclick: () => copy(address, "Link") }, "Copy the link"))));
      dialog.querySelector("button.main").focus();
      onMade?.();
    } catch (err) {
      failed(said, err);
    }
  };
  fill(dialog, h("form", { onsubmit: submit }, h("h2", { id: "share-title" }, `Share the live picture of ${name}`),
    h("p", { class: "small soft" }, "A colleague can watch without a token. The link shows only what your account does there."),
    h("label", {}, "Ends after", ttl), h("label", {}, "Label (only you see it)", label), said,
    h("div", { class: "tools" }, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), h("button", { class: "main", id: "make-link" }, "Create the link"))));
  document.body.append(dialog);
  dialog.showModal();
}

// links shows the account's links. It returns nothing where the service has none.
export function links({ signal }) {
  const list = h("tbody");
  const said = h("div");
  const section = h("section", { id: "links", hidden: true }, h("h2", {}, "Links for colleagues"), said,
    h("div", { class: "sheet scroll", tabindex: "0", role: "region", "aria-label": "Links" }, h("table", {},
      h("thead", {}, h("tr", {}, ["Label", "Shows", "Ends", "Watching"].map((s) => h("th", { scope: "col" }, s)), h("td", {}, h("span", { class: "unseen" }, "Revoke")))), list)));
  const update = async () => {
    try {
      const { links: all } = await get("/v1/links", { signal });
      section.hidden = all.length === 0;
      rows(list, all, (l) => l.id,
        (l) => h("tr", {}, h("td", {}, l.label || "No label"), h("td", {}, workers.get(l.object)?.workerName ?? h("code", {}, shortID(l.object))), h("td"), h("td", { class: "num" }),
          h("td", { class: "act" }, h("button", { class: "danger", onclick: () => revoke(l) }, "Revoke", h("span", { class: "unseen" }, ` ${l.label || l.id}`)))),
        (e, l) => {
          text(e.cells[2], until(l.expiresAt));
          text(e.cells[3], String(l.watching ?? 0));
        });
    } catch (err) {
      if (err.name !== "AbortError" && err.status !== 404) failed(said, err);
      if (err.status === 404) clearInterval(timer);
    }
  };
  const revoke = async (l) => {
    try {
      await remove(`/v1/links/${l.id}`);
      say("The link was revoked");
    } catch (err) {
      failed(said, err);
    }
    await update();
  };
  const timer = setInterval(update, 5000);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  void update();
  return { section, update };
}
