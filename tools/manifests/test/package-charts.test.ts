import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { CHARTS } from "../src/complete-charts.js";
import { findHelm, helmUnavailable } from "../src/helm/find-helm.js";
import { packageCharts } from "../src/package-charts.js";

const run = promisify(execFile);

/** Packages a copy of the charts, which other tests read at the same time. */
async function packaged(): Promise<readonly string[]> {
  const directory = await mkdtemp(join(tmpdir(), "charts-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  await cp(CHARTS, join(directory, "charts"), { recursive: true });
  return await packageCharts(join(directory, "packages"), join(directory, "charts"));
}

test("packages have the chart's folder with its generated files, and the same bytes each time", async () => {
  const packages = await packaged();
  expect(packages.map((path) => basename(path))).toEqual(
    ["base", "gateway", "istiod"].map((name) =>
      expect.stringMatching(new RegExp(`^${name}-\\d+\\.\\d+\\.\\d+\\.tgz$`)),
    ),
  );
  const { stdout } = await run("tar", ["-tzf", packages[2] ?? ""]);
  for (const file of ["Chart.yaml", "values.yaml", "templates/deployment.yaml", "templates/_shared.gen.tpl"])
    expect(stdout.split("\n")).toContain(`istiod/${file}`);
  const again = await packaged();
  for (const [index, path] of packages.entries())
    expect((await readFile(path)).equals(await readFile(again[index] ?? ""))).toBe(true);
});

test("Helm renders a package like its folder", async (context) => {
  const reason = await helmUnavailable();
  context.skip(reason !== undefined, reason);
  const helm = (await findHelm()) ?? "";
  for (const path of await packaged()) {
    const chart = basename(path).replace(/-.*/, "");
    const options = ["--namespace", "istio-system"];
    const { stdout } = await run(helm, ["template", "release", path, ...options], { maxBuffer: 1 << 26 });
    const folder = await run(helm, ["template", "release", join(CHARTS, chart), ...options], { maxBuffer: 1 << 26 });
    expect(stdout.length).toBeGreaterThan(500);
    expect(stdout).toBe(folder.stdout);
  }
});
