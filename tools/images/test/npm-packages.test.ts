import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { noticesOf, npmPackagesOf } from "../src/root/npm-packages.js";

/** A repository with the packages `a`, `@b/c` and, within `a`, another version of `@b/c`. */
function repository(lock: object): string {
  const root = mkdtempSync(join(tmpdir(), "npm-packages-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const write = (folder: string, name: string, version: string, licence: string): void => {
    mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(join(root, folder, "package.json"), JSON.stringify({ name, version, license: licence }));
  };
  write("node_modules/a", "a", "1.0.0", "MIT");
  write("node_modules/@b/c", "@b/c", "2.0.0", "ISC");
  write("node_modules/a/node_modules/@b/c", "@b/c", "1.5.0", "ISC");
  writeFileSync(join(root, "node_modules/a/LICENSE"), "terms of a\n");
  writeFileSync(join(root, "package-lock.json"), JSON.stringify({ packages: lock }));
  return root;
}

const lock = {
  "node_modules/a": { version: "1.0.0", integrity: "sha512-a" },
  "node_modules/@b/c": { version: "2.0.0", integrity: "sha512-c2" },
  "node_modules/a/node_modules/@b/c": { version: "1.5.0", integrity: "sha512-c1" },
};
const inputs = [
  "apps/istiod/dist/main.js",
  "node_modules/a/index.js",
  "node_modules/a/other.js",
  "node_modules/a/node_modules/@b/c/x.js",
  "node_modules/@b/c/x.js",
];

test("the packages of bundled files have their versions, licences and digests", async () => {
  const packages = await npmPackagesOf(inputs, repository(lock));
  expect(packages).toEqual([
    { name: "@b/c", version: "1.5.0", licence: "ISC", integrity: "sha512-c1", terms: "" },
    { name: "@b/c", version: "2.0.0", licence: "ISC", integrity: "sha512-c2", terms: "" },
    { name: "a", version: "1.0.0", licence: "MIT", integrity: "sha512-a", terms: "terms of a\n" },
  ]);
  expect(noticesOf(packages)).toContain("a 1.0.0\nLicence: MIT\n\nterms of a\n");
});

test("a package that differs from the lock file is an error", async () => {
  const other = repository({ ...lock, "node_modules/a": { version: "1.0.1", integrity: "sha512-a" } });
  await expect(npmPackagesOf(inputs, other)).rejects.toThrow(
    "package-lock.json has no integrity of node_modules/a in version 1.0.0: npm ci",
  );
});
