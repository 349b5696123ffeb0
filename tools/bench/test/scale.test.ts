import { describe, expect, test } from "vitest";
import { clusterUnavailable } from "@istiod/cluster";
import { dimensions } from "../src/scale/dimensions/index.js";
import { judgeByEnvoy } from "../src/scale/envoy-judge.js";
import { growths, superlinear } from "../src/scale/growth.js";
import { type Exchange, measureStep, type Step } from "../src/scale/measure-step.js";
import { failures, verdict } from "../src/scale/report.js";
import { differences } from "../src/scale/scale-proxy.js";

const envoy = await judgeByEnvoy();
const noCluster = await clusterUnavailable();
const timeoutMs = 30_000;

/** One dimension of each kind of list; the command runs all, at their sizes. */
const inCi = ["endpoints", "ports", "routes", "entry-subjects", "secrets"];

describe("a mesh of which one number is large", () => {
  test.each(
    dimensions.filter(({ name }) => inCi.includes(name)).map((dimension) => [dimension.counts, dimension] as const),
  )("reaches proxies of both variants, and Envoy accepts it: %s", { timeout: 90_000 }, async (_, dimension) => {
    const size = Math.max(...dimension.smallSizes);
    const step = await measureStep(dimension, { source: "files", size, timeoutMs, ...(envoy && { envoy }) });
    expect(verdict(step)).toBe("right");
    const judged = envoy !== undefined && (dimension.toEnvoy ?? Infinity) > 0;
    expect(step.envoy.outcome).toBe(judged ? "accepted" : "not asked");
    for (const { first, change } of [step.delta!, step.sotw!]) {
      expect(first.bytes).toBeGreaterThan(change.bytes);
      expect(change.responses).toBeGreaterThan(0);
    }
  });

  test("is read from an API server", { timeout: 90_000 }, async ({ skip }) => {
    skip(noCluster !== undefined, noCluster);
    const dimension = dimensions.find(({ name }) => name === "endpoints")!;
    const step = await measureStep(dimension, { source: "cluster", size: dimension.smallSizes[1]!, timeoutMs });
    expect(verdict(step)).toBe("right");
  });

  test("is wrong if a proxy lacks something, and the verdict names it", { timeout: 90_000 }, async () => {
    const dimension = dimensions.find(({ name }) => name === "ports")!;
    const wrong = {
      ...dimension,
      mesh: async (size: number) => ({ ...(await dimension.mesh(size)), expected: ["outbound|1||x"] }),
    };
    const step = await measureStep(wrong, { source: "files", size: 2, timeoutMs: 1000 });
    expect(verdict(step)).toMatch(/^wrong: delta: 1 missing: outbound\|1\|\|x; delta: 2 unexpected: /);
    expect(failures([step])).toHaveLength(1);
  });

  test("is refused with a reason if istiod's log names the object", { timeout: 90_000 }, async () => {
    const dimension = dimensions.find(({ name }) => name === "virtual-service-hosts")!;
    const refused = {
      ...dimension,
      mesh: async (size: number) => {
        const mesh = await dimension.mesh(size);
        const object = mesh.objects.find(({ kind }) => kind === "VirtualService")!;
        const invalid = { ...object, spec: { ...(object["spec"] as object), http: [{ route: [] }] } };
        return { ...mesh, objects: [...mesh.objects.filter((each) => each !== object), invalid] };
      },
    };
    const step = await measureStep(refused, { source: "files", size: 2, timeoutMs: 1000 });
    expect(verdict(step)).toMatch(/^refused: .*VirtualService shop\/many/);
    expect(failures([step])).toEqual([]);
  });
});

describe("growth", () => {
  const exchange = (cpuSeconds: number, bytes: number): Exchange => ({ cpuSeconds, bytes, responses: 4 });
  const step = (size: number, cpuSeconds: number, bytes: number, more: Partial<Step> = {}): Step => ({
    dimension: "things",
    size,
    source: "files",
    startCpuSeconds: 1,
    delta: { first: exchange(cpuSeconds, bytes), change: exchange(0, 500) },
    peakRss: 150e6,
    startTurnMs: 0,
    longestTurnMs: 0,
    envoy: { outcome: "accepted" },
    faults: [],
    ...more,
  });

  test("in proportion to the size is right", () => {
    const steps = [step(10, 0.1, 1e4), step(100, 0.5, 1e5), step(1000, 4.1, 1e6)];
    expect(failures(steps)).toEqual([]);
    expect(growths(steps).map(({ figure, exponent }) => [figure, exponent.toFixed(2)])).toEqual([
      ["delta CPU of the first responses", "1.00"],
      ["delta bytes of the first responses", "1.04"],
    ]);
  });

  test("with the square of the size is wrong, by CPU and by bytes", () => {
    const steps = [step(10, 0.1, 1e4), step(100, 0.5, 1e5), step(1000, 40.1, 1e7)];
    expect(failures(steps)).toEqual([
      "things from files: delta CPU of the first responses grows with the power 2.00 of the size from 100 to 1000",
      "things from files: delta bytes of the first responses grows with the power 2.05 of the size from 100 to 1000",
    ]);
  });

  test("from within the noise is a lower bound", () => {
    const from = [step(10, 0.1, 100), step(100, 0.11, 100)];
    expect(superlinear([...from, step(1000, 0.1 + 0.25 * 10 ** 1.31, 100)])).toHaveLength(1);
    expect(superlinear([...from, step(1000, 0.1 + 0.25 * 10 ** 1.29, 100)])).toEqual([]);
  });

  test("is not computed from sizes that were refused", () => {
    const steps = [step(10, 0.1, 1e4), step(100, 0.5, 1e5), step(1000, 400, 1e9, { refusal: "too many" })];
    expect(superlinear(steps)).toEqual([]);
    expect(verdict(steps[2]!)).toBe("refused: too many");
  });
});

test("differences name what is missing, unexpected or there more than once", () => {
  expect(differences(["a", "b"], ["b", "a"])).toEqual([]);
  expect(differences(["a", "a", "x"], ["a", "b", "c", "d", "e"])).toEqual([
    "1 more than once",
    "4 missing: b, c, d",
    "1 unexpected: x",
  ]);
});
