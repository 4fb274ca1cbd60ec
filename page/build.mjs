// Build the page into shared/page/static, or into the folder of the first argument.
// The same sources and packages give the same bytes: no times, no paths, no source maps.
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = resolve(process.argv[2] ?? join(here, "..", "shared", "page", "static"));

await mkdir(target, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { page: "src/main.tsx" },
  outdir: target,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2021"],
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  banner: { js: "/* Shuntyard, Apache-2.0; with Preact and js-yaml, both MIT: see licenses.txt. Built from page/. */" },
  logLevel: "warning",
});
for (const name of ["page.css", "index.html", "icon.svg"]) {
  await copyFile(join(here, "src", name), join(target, name));
}
const licenses = [];
for (const [name, folder] of [["Preact", "preact"], ["js-yaml", "js-yaml"]]) {
  const text = await readFile(join(here, "node_modules", folder, "LICENSE"), "utf8");
  licenses.push(`page.js contains ${name}:\n\n${text.trim()}\n`);
}
await writeFile(join(target, "licenses.txt"), licenses.join("\n\n"));
