import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { diffCommand, explainCommand, proxyConfigCommand } from "@istiod/commands";
import { flagDefaults } from "../src/flags.js";
import { offlineMeshes } from "../src/offline-mesh.js";
import { folder, serve } from "./serving.js";

const files = {
  "mesh/pod.yaml": `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, annotations: {sidecar.istio.io/status: "{}"}}
spec: {containers: [{name: web}]}
status: {podIP: 10.0.0.1, phase: Running}
`,
};

test("istiod warns once about missing files of mesh configuration and networks, and uses them when they appear", async () => {
  const root = await folder(files);
  const flags = {
    configDir: join(root, "mesh"),
    meshConfig: join(root, "mesh.yaml"),
    networksConfig: join(root, "networks.yaml"),
  };
  const istiod = await serve(flags);
  const warnings = (): unknown[] =>
    istiod.lines.filter(({ msg }) => msg.includes("no such file")).map(({ level, msg }) => [level, msg]);
  const expected = [
    ["warn", `--meshConfig ${flags.meshConfig}: no such file, using the defaults until it exists`],
    ["warn", `--networksConfig ${flags.networksConfig}: no such file, using no networks until it exists`],
  ];
  expect(warnings()).toEqual(expected);
  await writeFile(`${flags.meshConfig}.new`, "rootNamespace: roots");
  await rename(`${flags.meshConfig}.new`, flags.meshConfig);
  await vi.waitFor(
    async () =>
      expect(await (await fetch(`${istiod.http}/debug/mesh`)).json()).toMatchObject({ rootNamespace: "roots" }),
    5000,
  );
  expect(warnings()).toEqual(expected);
});

test("istiod does not warn about missing files at the default paths", async () => {
  const { meshConfig, networksConfig } = flagDefaults({});
  const istiod = await serve({ configDir: join(await folder(files), "mesh"), meshConfig, networksConfig });
  expect(istiod.lines.filter(({ msg }) => msg.includes("no such file"))).toEqual([]);
});

test("istiod explain, diff and proxy-config warn about missing files on standard error", async () => {
  const configDir = join(await folder(files), "mesh");
  const warned: string[] = [];
  const warn = (text: string): void => void warned.push(text);
  await explainCommand(offlineMeshes({}), () => undefined, warn).parseAsync(
    ["--configDir", configDir, "--proxy", "web.shop", "--type", "cds", "--meshConfig", "none.yaml"],
    { from: "user" },
  );
  expect(warned.splice(0)).toEqual(["--meshConfig none.yaml: no such file, using the defaults\n"]);
  await proxyConfigCommand(offlineMeshes({}), () => undefined, warn).parseAsync(
    ["clusters", "web.shop", "--configDir", configDir, "--meshConfig", "none.yaml"],
    { from: "user" },
  );
  expect(warned.splice(0)).toEqual(["--meshConfig none.yaml: no such file, using the defaults\n"]);
  const diff = diffCommand(offlineMeshes({}), { print: () => undefined, warn, exit: () => undefined });
  await diff.parseAsync(
    ["--before", configDir, "--after", configDir, "--afterMeshConfig", "none.yaml", "--networksConfig", "no-nets.yaml"],
    { from: "user" },
  );
  expect(warned).toEqual([
    "--afterMeshConfig none.yaml: no such file, using the defaults\n",
    "--networksConfig no-nets.yaml: no such file, using no networks\n",
  ]);
});
