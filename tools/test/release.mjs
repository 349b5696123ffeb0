// Prepares a release: `cut` after `nx release`, `check` of a tag before it is published, `pack` of what is published.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pack, publishedManifests, root } from "./pack.mjs";

const UNRELEASED = "## Unreleased\n";
const NOTHING = "Nothing yet.\n";

/** @param {string} folder @returns {readonly string[]} */
const chartsOf = (folder) => readdirSync(join(folder, "manifests/charts"));

/** @param {string} path @param {(text: string) => string} change */
function edit(path, change) {
  writeFileSync(path, change(readFileSync(path, "utf8")));
}

/** @param {string} folder @returns {string} */
function versionOf(folder) {
  return JSON.parse(readFileSync(join(folder, "apps/istiod/package.json"), "utf8")).version;
}

/**
 * Makes the unreleased changes those of the packages' version, and gives the charts and examples this version.
 *
 * @param {string} folder the repository
 * @param {string} date such as 2026-11-29
 * @throws Error if there are no changes, or the version has its changes already
 */
export function cut(folder, date) {
  const version = versionOf(folder);
  edit(join(folder, "CHANGELOG.md"), (text) => {
    if (sectionOf(text, version) !== undefined) throw new Error(`CHANGELOG.md: there is a section of ${version}`);
    const [before = "", after = ""] = text.split(UNRELEASED);
    const changes = sectionOf(text, "Unreleased") ?? "";
    if (changes === "" || changes === NOTHING.trim()) throw new Error("CHANGELOG.md: there are no unreleased changes");
    return `${before}${UNRELEASED}\n${NOTHING}\n## ${version} (${date})\n${after}`;
  });
  for (const chart of chartsOf(folder))
    edit(join(folder, "manifests/charts", chart, "Chart.yaml"), (text) =>
      text.replaceAll(/^(version|appVersion): .*$/gm, `$1: ${version}`),
    );
  edit(join(folder, "manifests/charts/istiod/values.yaml"), (text) =>
    text.replace(/^( {4}hub: istiod\n {4}tag: ).*$/m, `$1${version}`),
  );
  for (const example of readdirSync(join(folder, "examples"), { withFileTypes: true }))
    if (example.isDirectory())
      edit(join(folder, "examples", example.name, "package.json"), (text) =>
        text.replaceAll(/("@istiod\/[\w-]+": ")[^"]*"/g, `$1${version}"`),
      );
}

/**
 * Returns the text of a section of the changelog; undefined if it has none.
 *
 * @param {string} text
 * @param {string} title version, or `Unreleased`
 */
function sectionOf(text, title) {
  const section = text.split(/^## /m).find((each) => each.split(/[ \n]/)[0] === title);
  return section?.slice(section.indexOf("\n")).trim();
}

/**
 * Returns what keeps a tag from being published.
 *
 * @param {string} folder the repository
 * @param {string} tag such as v0.1.0
 * @returns {readonly string[]}
 */
export function faultsOf(folder, tag) {
  const version = versionOf(folder);
  const faults = [];
  const expectVersion = (/** @type {string} */ where, /** @type {unknown} */ found) => {
    if (found !== version) faults.push(`${where} is ${String(found)}, and the packages have ${version}`);
  };
  expectVersion("the tag without v", tag.replace(/^v/, ""));
  if (!sectionOf(readFileSync(join(folder, "CHANGELOG.md"), "utf8"), version))
    faults.push(`CHANGELOG.md has no section of ${version}: npm run release:cut`);
  for (const chart of chartsOf(folder)) {
    const text = readFileSync(join(folder, "manifests/charts", chart, "Chart.yaml"), "utf8");
    for (const [, field = "", value] of text.matchAll(/^(version|appVersion): (.*)$/gm))
      expectVersion(`${field} of the chart ${chart}`, value);
  }
  const values = readFileSync(join(folder, "manifests/charts/istiod/values.yaml"), "utf8");
  expectVersion("global.tag of the chart istiod", /^ {4}hub: istiod\n {4}tag: (.*)$/m.exec(values)?.[1]);
  return faults;
}

/** Packs all packages, with the digests of all files, into a folder. @param {string} folder */
async function packAll(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "packages"), { recursive: true });
  await pack([...publishedManifests().keys()], join(folder, "packages"));
  execFileSync(process.execPath, [join(root, "tools/manifests/bin/istiod-manifests.js"), "package"]);
  const files = ["charts", "packages"].flatMap((part) =>
    readdirSync(join(folder, part)).map((name) => `${part}/${name}`),
  );
  const digest = (/** @type {string} */ file) =>
    createHash("sha256")
      .update(readFileSync(join(folder, file)))
      .digest("hex");
  writeFileSync(join(folder, "SHA256SUMS"), files.map((file) => `${digest(file)}  ${file}\n`).join(""));
  console.log(`${files.length} files in ${folder}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [command, argument] = process.argv.slice(2);
  if (command === "cut") cut(root, argument ?? new Date().toISOString().slice(0, 10));
  else if (command === "pack") await packAll(join(root, "build/release"));
  else if (command === "check" && argument !== undefined) {
    const faults = faultsOf(root, argument);
    for (const fault of faults) console.error(`release: ${fault}`);
    process.exitCode = faults.length === 0 ? 0 : 1;
  } else {
    console.error("usage: release.mjs cut [DATE] | check TAG | pack");
    process.exitCode = 2;
  }
}
