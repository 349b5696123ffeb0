import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clusterReader, DirectorySource, Ingestion, KubernetesSource, type Source } from "@istiod/config-ingestion";
import { formatProblem, type Problem } from "@istiod/config-schema";
import { type JsonDifference, jsonDifferences } from "@istiod/explain";
import { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { normalActual } from "../compare.js";
import { generateFrom, writeMesh } from "../generate.js";
import { type JsonObject, type Scenario, type Type, types } from "../scenario.js";
import type { FilledCluster } from "./filled-cluster.js";

/** A resource that differs between two sources of the same objects. */
export interface SourceDifference {
  /** Proxy, type and resource, such as `web cds outbound|80||cart.shop.svc.cluster.local`. */
  readonly resource: string;
  /** Fields that differ; empty if only the encodings do. Undefined: only one source has the resource. */
  readonly fields: readonly JsonDifference[] | undefined;
}

/** Resources of a scenario from two sources. */
export interface SourceComparison {
  readonly resources: number;
  readonly differences: readonly SourceDifference[];
  /** Problems that only one of the sources reports, without their places. */
  readonly problems: readonly string[];
}

/** Compares the resources of a scenario from a cluster with those from a directory that has the same objects. */
export async function compareSources(s: Scenario, cluster: FilledCluster): Promise<SourceComparison> {
  const fromDirectory = await resourcesOfDirectory(s, cluster.objects);
  const source = new KubernetesSource({ cluster: "Kubernetes", reader: clusterReader(cluster.client) });
  const fromCluster = await resourcesOf(s, source);
  const names = new Set([...fromDirectory.resources.keys(), ...fromCluster.resources.keys()]);
  const differences: SourceDifference[] = [];
  for (const name of names) {
    const [expected, actual] = [fromDirectory.resources.get(name), fromCluster.resources.get(name)];
    if (expected === undefined || actual === undefined) differences.push({ resource: name, fields: undefined });
    else if (Buffer.compare(expected, actual) !== 0) {
      const type = name.split(" ")[1] as Type;
      differences.push({
        resource: name,
        fields: jsonDifferences(normalActual(type, expected), normalActual(type, actual)),
      });
    }
  }
  const problems = [
    ...[...fromDirectory.problems].filter((problem) => !fromCluster.problems.has(problem)),
    ...[...fromCluster.problems].filter((problem) => !fromDirectory.problems.has(problem)),
  ];
  return { resources: names.size, differences, problems };
}

interface SourceContent {
  /** Bytes by proxy, type and name. */
  readonly resources: ReadonlyMap<string, Uint8Array>;
  readonly problems: ReadonlySet<string>;
}

async function resourcesOfDirectory(s: Scenario, objects: readonly JsonObject[]): Promise<SourceContent> {
  const directory = await mkdtemp(join(tmpdir(), "istiod-parity-"));
  try {
    await writeFile(join(directory, "all.yaml"), objects.map((object) => JSON.stringify(object)).join("\n---\n"));
    return await resourcesOf(s, new DirectorySource({ directory }));
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function resourcesOf(s: Scenario, source: Source): Promise<SourceContent> {
  const database = new Database<Proxy>();
  database.commit((tx) => writeMesh(tx, s));
  const ingestion = new Ingestion(database, [source], { debounceAfter: 0 });
  try {
    await ingestion.ready;
    const resources = new Map<string, Uint8Array>();
    for (const [place, found] of generateFrom(database, s, types))
      for (const [name, bytes] of found) resources.set(`${place} ${name}`, bytes);
    // A cluster is not asked for objects of kinds that are not supported.
    const problems = ingestion.problems().filter(({ code }) => code !== "unsupported-kind" && code !== "unknown-kind");
    return { resources, problems: new Set(problems.map(withoutPlace)) };
  } finally {
    await ingestion.stop();
  }
}

function withoutPlace(problem: Problem): string {
  return formatProblem({ ...problem, file: "", line: 0 });
}
