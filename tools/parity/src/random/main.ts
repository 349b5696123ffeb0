// Writes random meshes as scenarios: `npm run random -w tools/parity -- FOLDER --kind telemetry --meshes 100 --seed 1`.
import { parseArgs } from "node:util";
import { randomMeshes } from "./mesh.js";
import { writeMeshes } from "./write-meshes.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    kind: { type: "string", default: "all" },
    meshes: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
  },
});
const [folder] = positionals;
const kinds = Object.keys(randomMeshes) as (keyof typeof randomMeshes)[];
const kind = kinds.find((each) => each === values.kind);
if (folder === undefined || kind === undefined) {
  console.error(`usage: random FOLDER [--kind ${kinds.join("|")}] [--meshes 100] [--seed 1]`);
  process.exit(2);
}
writeMeshes(folder, kind, { seed: Number(values.seed), meshes: Number(values.meshes) });
