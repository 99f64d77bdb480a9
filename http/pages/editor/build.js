// Makes ../app/vendor from codemirror.js and the packages of the lock file: one
// module, and the licences of what is in it. Same input, same bytes.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const sources = ["codemirror.js", "package-lock.json", "build.js"];
const hash = createHash("sha256");
for (const name of sources) hash.update(readFileSync(name));

const vendor = "../app/vendor/";
const made = await build({
  entryPoints: ["codemirror.js"], bundle: true, format: "esm", target: "es2022", minify: true, legalComments: "none",
  outfile: vendor + "codemirror.js", metafile: true, charset: "utf8",
  banner: { js: `// CodeMirror, bundled by http/pages/editor/build. Licences: LICENCES.txt\n// made from ${hash.digest("hex")}` },
});

const packages = new Set();
for (const input of Object.keys(made.metafile.inputs)) {
  const m = input.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (m) packages.add(m[1]);
}
const texts = [...packages].sort().map((name) => {
  const { version, license } = JSON.parse(readFileSync(`node_modules/${name}/package.json`));
  if (license !== "MIT") throw new Error(`${name} has the licence ${license}: docs/dependencies.md says MIT of all of them`);
  return `${name} ${version} (${license})\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}\n`;
});
writeFileSync(vendor + "LICENCES.txt", texts.join("\n----\n\n"));
