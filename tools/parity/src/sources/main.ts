// Equality of sources: `npm run sources -w tools/parity -- --help`.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { parseAllDocuments } from "yaml";
import { matchesGlob } from "../glob.js";
import { findScenarios, type JsonObject, objectsOf, type Scenario } from "../scenario.js";
import { compareSources } from "./compare-sources.js";
import type { FilledCluster } from "./filled-cluster.js";
import { clusterInMemory } from "./memory-cluster.js";
import { realCluster } from "./real-cluster.js";

const usage = `usage: sources FOLDER... [--only GLOB]... [--real] [--crds FILE]...
  --only  choose scenarios by glob, repeatedly
  --real  read a real API server (npm run cluster:install) instead of the one in memory
  --crds  define the kinds of a file's CustomResourceDefinitions in the real API server; other kinds accept everything`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string", multiple: true, default: [] },
    real: { type: "boolean", default: false },
    crds: { type: "string", multiple: true, default: [] },
    help: { type: "boolean", default: false },
  },
});
if (values.help || positionals.length === 0) {
  console.log(usage);
  process.exit(values.help ? 0 : 2);
}

const scenarios = positionals
  .flatMap(findScenarios)
  .filter(({ name }) => values.only.length === 0 || values.only.some((glob) => matchesGlob(name, glob)));
const real = values.real ? await realCluster(values.crds.flatMap(documentsOf)) : undefined;
const fill = (objects: readonly JsonObject[]): Promise<FilledCluster> =>
  real?.fill(objects) ?? clusterInMemory(objects);
const counts = { scenarios: 0, equal: 0, resources: 0, different: 0, rejected: 0 };
for (const s of scenarios) await print(s);
await real?.stop();
console.log(
  `${counts.scenarios} scenarios, ${counts.equal} equal; ${counts.resources} resources, ${counts.different} different; ${counts.rejected} objects rejected`,
);
process.exitCode = counts.equal === counts.scenarios ? 0 : 1;

async function print(s: Scenario): Promise<void> {
  const cluster = await fill(objectsOf(s));
  const { resources, differences, problems } = await compareSources(s, cluster);
  await cluster.stop();
  const isEqual = differences.length + problems.length === 0;
  counts.scenarios += 1;
  counts.equal += Number(isEqual);
  counts.resources += resources;
  counts.different += differences.length;
  counts.rejected += cluster.rejected.length;
  if (isEqual && cluster.rejected.length === 0) return;
  console.log(`${s.name}: ${differences.length} of ${resources} resources differ`);
  for (const { object, reason } of cluster.rejected) console.log(`  rejected: ${object}: ${reason}`);
  for (const problem of problems) console.log(`  problem of one source: ${problem}`);
  for (const { resource, fields } of differences) {
    console.log(`  ${resource}${fields === undefined ? ": only one source has it" : ""}`);
    for (const { path, expected, actual } of fields ?? [])
      console.log(`    ${path}: ${JSON.stringify(expected)} | ${JSON.stringify(actual)}`);
  }
}

function documentsOf(file: string): readonly JsonObject[] {
  return parseAllDocuments(readFileSync(file, "utf8"))
    .map((document) => document.toJS() as JsonObject | null)
    .filter((document): document is JsonObject => document?.["kind"] === "CustomResourceDefinition");
}
