import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { ROOT } from "../src/build-images.js";
import { IMAGES } from "../src/images.js";

const folder = join(ROOT, ".github/workflows");
const read = (file: string): string => readFileSync(join(folder, file), "utf8");

test("workflows use actions by the digest of a commit", () => {
  const used = readdirSync(folder).flatMap((file) =>
    [...read(file).matchAll(/uses:\s*(\S+)(.*)/g)].map(([, action = "", rest = ""]) => action + rest),
  );
  expect(used.length).toBeGreaterThan(0);
  for (const action of used) expect(action).toMatch(/^[\w-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});

test("a release pushes and signs all images", () => {
  const { jobs } = parse(read("release.yml")) as { jobs: Record<string, { steps: { run?: string }[] }> };
  const commands = Object.values(jobs).flatMap(({ steps }) => steps.map(({ run = "" }) => run));
  for (const program of ["skopeo copy", "cosign sign", "cosign attest"])
    expect(
      commands.filter((run) => run.includes(program)),
      program,
    ).toHaveLength(1);
  for (const run of commands.filter((each) => /skopeo copy|cosign (sign|attest)/.test(each)))
    expect(run).toContain(`for image in ${Object.keys(IMAGES).join(" ")}`);
});

test("the charts name the images of a release", () => {
  const values = (chart: string) => parse(readFileSync(join(ROOT, `manifests/charts/${chart}/values.yaml`), "utf8"));
  const { version } = JSON.parse(readFileSync(join(ROOT, "apps/istiod/package.json"), "utf8")) as { version: string };
  const { _internal_defaults_do_not_set: defaults } = values("istiod");
  const { image, global } = defaults;
  expect({ hub: global.hub, tag: global.tag }).toEqual({ hub: "istiod", tag: version });
  expect([image, global.proxy.image, global.proxy_init.image]).toEqual(["pilot", "proxyv2", "proxyv2"]);
  expect(Object.keys(IMAGES)).toEqual(["pilot", "proxyv2"]);
  expect(read("release.yml")).toContain("IMAGE_HUB: ${{ vars.IMAGE_HUB || 'istiod' }}");
});
