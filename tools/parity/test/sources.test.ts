import { existsSync } from "node:fs";
import { join } from "node:path";
import { clusterUnavailable } from "@istiod/cluster";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findScenarios, objectsOf, type Scenario } from "../src/scenario.js";
import { compareSources } from "../src/sources/compare-sources.js";
import type { FilledCluster } from "../src/sources/filled-cluster.js";
import { clusterInMemory } from "../src/sources/memory-cluster.js";
import { type RealCluster, realCluster } from "../src/sources/real-cluster.js";
import { sampleOf } from "../src/sources/sample.js";

const folders = ["scenarios", "cases"].map((folder) => join(import.meta.dirname, "../../../../shared", folder));
const found = folders.every((folder) => existsSync(folder)) ? folders.flatMap(findScenarios) : [];
const absent = found.length === 0 ? "no ../shared/scenarios and ../shared/cases beside the repository" : undefined;
const noCluster = await clusterUnavailable();
/** `SOURCES_SCENARIOS=all` compares all. */
const all = process.env["SOURCES_SCENARIOS"] === "all";

/** Deletes one object of a cluster's scenario from the directory. */
function withoutOne(cluster: FilledCluster): FilledCluster {
  const index = cluster.objects.findIndex(({ kind }) => kind === "Service");
  return { ...cluster, objects: cluster.objects.toSpliced(index, 1) };
}

function rows(count: number): readonly (readonly [string, Scenario])[] {
  return (all ? found : sampleOf(found, count)).map((s) => [s.name, s] as const);
}

async function expectEqual(s: Scenario, cluster: FilledCluster): Promise<void> {
  try {
    const { resources, ...different } = await compareSources(s, cluster);
    expect(different).toEqual({ differences: [], problems: [] });
    expect(resources).toBeGreaterThan(0);
  } finally {
    await cluster.stop();
  }
}

describe("a cluster in memory configures proxies as a directory with its objects", () => {
  test.for([["recorded scenarios", undefined] as const, ...rows(30)])(
    "%s",
    { timeout: 120_000 },
    async ([, s], context) => {
      context.skip(absent !== undefined, absent);
      if (s === undefined) return;
      const cluster = await clusterInMemory(objectsOf(s));
      // Some cases have names that Kubernetes rejects. A directory does not have these objects either then.
      expect(cluster.rejected.filter(({ reason }) => !reason.includes("metadata.name:"))).toEqual([]);
      await expectEqual(s, cluster);
    },
  );

  test("a missing object is noticed", async (context) => {
    context.skip(absent !== undefined, absent);
    const [s] = found;
    if (s === undefined) throw new Error("no scenario");
    const cluster = await clusterInMemory(objectsOf(s));
    const { differences } = await compareSources(s, withoutOne(cluster));
    await cluster.stop();
    expect(differences).not.toEqual([]);
  }, 120_000);
});

describe("a real cluster configures proxies as a directory with its objects", () => {
  let real: RealCluster | undefined;
  beforeAll(async () => {
    if (noCluster === undefined && absent === undefined) real = await realCluster([]);
  }, 120_000);
  afterAll(() => real?.stop());

  test.for([["recorded scenarios", undefined] as const, ...rows(5)])(
    "%s",
    { timeout: 120_000 },
    async ([, s], context) => {
      context.skip(absent !== undefined, absent);
      context.skip(noCluster !== undefined, noCluster);
      if (s === undefined || real === undefined) return;
      await expectEqual(s, await real.fill(objectsOf(s)));
    },
  );
});
