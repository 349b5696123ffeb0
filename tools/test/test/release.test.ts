import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { root } from "../pack.mjs";
import { cut, faultsOf } from "../release.mjs";

/** A copy of what a release changes, with packages of another version. */
function repository(version: string): string {
  const folder = mkdtempSync(join(tmpdir(), "release-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const path of ["manifests/charts", "examples", "apps/istiod/package.json"])
    cpSync(join(root, path), join(folder, path), { recursive: true });
  const manifest = join(folder, "apps/istiod/package.json");
  writeFileSync(manifest, readFileSync(manifest, "utf8").replace(/("version": ")[^"]*/, `$1${version}`));
  writeFileSync(
    join(folder, "CHANGELOG.md"),
    "# Changelog\n\n## Unreleased\n\n### Fixed\n\n- A fault.\n\n## 0.0.1 (2026-01-01)\n\n- Old.\n",
  );
  return folder;
}

const read = (folder: string, path: string): string => readFileSync(join(folder, path), "utf8");

test("a cut gives the unreleased changes, the charts and the examples the packages' version", () => {
  const folder = repository("9.8.7");
  expect(faultsOf(folder, "v9.8.7")).toContain("CHANGELOG.md has no section of 9.8.7: npm run release:cut");
  expect(faultsOf(folder, "v9.8.7")).toContain("global.tag of the chart istiod is 0.1.0, and the packages have 9.8.7");
  cut(folder, "2026-11-29");
  expect(read(folder, "CHANGELOG.md")).toBe(
    "# Changelog\n\n## Unreleased\n\nNothing yet.\n\n## 9.8.7 (2026-11-29)\n\n### Fixed\n\n- A fault.\n\n## 0.0.1 (2026-01-01)\n\n- Old.\n",
  );
  for (const chart of ["base", "istiod", "gateway"])
    expect(read(folder, `manifests/charts/${chart}/Chart.yaml`)).toMatch(/^version: 9\.8\.7\nappVersion: 9\.8\.7$/m);
  expect(read(folder, "manifests/charts/istiod/values.yaml")).toContain("    hub: istiod\n    tag: 9.8.7\n");
  expect(read(folder, "examples/spiffe-ca/package.json")).toContain('"@istiod/ca": "9.8.7"');
  expect(faultsOf(folder, "v9.8.7")).toEqual([]);
  expect(faultsOf(folder, "v9.9.0")).toEqual(["the tag without v is 9.9.0, and the packages have 9.8.7"]);
});

test("nothing is cut without changes, or twice", () => {
  const folder = repository("9.8.7");
  cut(folder, "2026-11-29");
  expect(() => cut(folder, "2026-11-30")).toThrow("CHANGELOG.md: there is a section of 9.8.7");
  const other = repository("9.8.7");
  writeFileSync(join(other, "CHANGELOG.md"), "# Changelog\n\n## Unreleased\n\nNothing yet.\n");
  expect(() => cut(other, "2026-11-29")).toThrow("CHANGELOG.md: there are no unreleased changes");
});
