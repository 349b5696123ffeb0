import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { stringify } from "yaml";
import { type RandomMesh, randomMeshes } from "./mesh.js";

/** Writes random meshes of a kind as scenarios without expected resources. Equal seeds give equal meshes. */
export function writeMeshes(
  folder: string,
  kind: keyof typeof randomMeshes,
  { seed, meshes }: { readonly seed: number; readonly meshes: number },
): void {
  mkdirSync(join(folder, "bases/none"), { recursive: true });
  writeFileSync(join(folder, "bases/none/proxies.json"), "[]\n");
  const sampled: readonly RandomMesh[] = fc.sample(randomMeshes[kind], { seed, numRuns: meshes });
  for (const [i, mesh] of sampled.entries()) writeMesh(join(folder, `${kind}-${seed}-${i}`), mesh);
}

function writeMesh(folder: string, { objects, meshConfig, proxies, environment }: RandomMesh): void {
  const scenario = { base: "none", proxies: proxies.map(({ key }) => key) };
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}\n`);
  mkdirSync(folder, { recursive: true });
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  write("input.yaml", objects.map((object) => JSON.stringify(object)).join("\n---\n"));
  write("mesh.yaml", stringify(meshConfig));
  write("proxies.json", JSON.stringify(proxies, undefined, 1));
  write("scenario.json", JSON.stringify(scenario));
  write("env", variables.join(""));
}
