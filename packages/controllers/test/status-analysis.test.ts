import type { Code, Finding } from "@istiod/analysis";
import { type Problem, virtualServiceKind } from "@istiod/config-schema";
import { type AnalyzedObject, StatusAnalysis } from "@istiod/controllers";
import { Database } from "@istiod/incremental";
import { FakeClock } from "@istiod/runtime/testing";
import { expect, it } from "vitest";

const { group, kind, collection } = virtualServiceKind;
const subject = (name: string) => ({ group, kind, namespace: "shop", name });
const keyOf = (name: string): string => `${group}/${kind}/shop/${name}`;
const turn = (): Promise<void> => new Promise((done) => setImmediate(done));
const notFound = { code: "IST0101", name: "ReferencedResourceNotFound", level: "ERROR" };
const invalid = { code: "IST0106", name: "SchemaValidationError", level: "ERROR" };

/** A mesh of one VirtualService, with the results of its analysis. */
function analyzedMesh() {
  const clock = new FakeClock();
  const database = new Database<void>();
  const generations = new Map<string, number>();
  const ingestion = { isDebouncing: false, pendingCount: 0, problems: (): readonly Problem[] => problems };
  let findings: readonly Finding[] = [];
  let problems: readonly Problem[] = [];
  const results = new StatusAnalysis<void>({
    analysis: { findings: () => Promise.resolve(findings) },
    database,
    ingestion,
    cluster: {
      name: "cluster Kubernetes",
      cluster: "Kubernetes",
      metadata: (_, key) => ({ uid: key, resourceVersion: "1", generation: generations.get(key) ?? 0 }),
    },
    intervalMs: 5000,
    clock,
  });
  let generation = 0;
  return {
    clock,
    ingestion,
    results,
    /** Commits a version of a VirtualService. */
    commit(name = "cart"): void {
      generations.set(`shop/${name}`, ++generation);
      database.commit((tx) => tx.set(collection, `shop/${name}`, { ...subject(name), generation } as never));
    },
    find(...codes: readonly Code[]): void {
      const origin = { ...subject("cart"), key: "shop/cart" };
      findings = codes.map((code) => ({ code, analyzer: "", origin, path: [], message: "" }));
    },
    reject(file: string, name: string): void {
      generations.set(`shop/${name}`, ++generation);
      problems = [{ severity: "error", file, line: 0, subject: subject(name), path: [], message: "" }];
    },
    /** Listens, and returns the results of each publication. */
    listen(): ReadonlyMap<string, AnalyzedObject>[] {
      const published: ReadonlyMap<string, AnalyzedObject>[] = [];
      results.onChange(() => published.push(results.current() ?? new Map<string, AnalyzedObject>()));
      return published;
    },
    async advance(ms: number): Promise<void> {
      clock.advance(ms);
      await turn();
    },
  };
}

it("results are published a second after the last change, with the generation that they belong to", async () => {
  const mesh = analyzedMesh();
  const published = mesh.listen();
  mesh.find("IST0101");
  mesh.commit();
  await mesh.advance(900);
  mesh.commit();
  await mesh.advance(999);
  expect(published).toEqual([]);
  await mesh.advance(1);
  expect(published).toEqual([
    new Map([[keyOf("cart"), { generation: 2, messages: [expect.objectContaining(notFound)] }]]),
  ]);
});

it("results are published within the interval although changes keep coming", async () => {
  const mesh = analyzedMesh();
  const published = mesh.listen();
  for (let i = 0; i < 9; i++) {
    mesh.commit();
    await mesh.advance(500);
  }
  expect(published).toEqual([]);
  mesh.commit();
  await mesh.advance(500);
  expect(published).toEqual([new Map([[keyOf("cart"), { generation: 10, messages: [] }]])]);
});

it("nothing is published while changes are pending, and later once in every interval", async () => {
  const mesh = analyzedMesh();
  const published = mesh.listen();
  mesh.ingestion.pendingCount = 1;
  await mesh.advance(2500);
  expect(published).toEqual([]);
  mesh.ingestion.pendingCount = 0;
  await mesh.advance(2500);
  expect(published).toHaveLength(1);
  await mesh.advance(4999);
  expect(published).toHaveLength(1);
  await mesh.advance(1);
  expect(published).toHaveLength(2);
});

it("a rejected version of the cluster's own source has a message, and that of another source has none", async () => {
  const mesh = analyzedMesh();
  const published = mesh.listen();
  mesh.reject("cluster Kubernetes", "bad");
  await mesh.advance(1000);
  expect(published).toEqual([
    new Map([[keyOf("bad"), { generation: 1, messages: [expect.objectContaining(invalid)] }]]),
  ]);
  mesh.reject("mesh/bad.yaml", "bad");
  await mesh.advance(5000);
  expect(published[1]).toEqual(new Map());
});

it("without a listener nothing is computed, and the next term starts without results", async () => {
  const mesh = analyzedMesh();
  mesh.commit();
  expect(mesh.clock.pending).toEqual([]);
  const end = mesh.results.onChange(() => undefined);
  await mesh.advance(1000);
  expect([...(mesh.results.current() ?? [])]).toEqual([[keyOf("cart"), { generation: 1, messages: [] }]]);
  end();
  expect(mesh.results.current()).toBeUndefined();
  expect(mesh.clock.pending).toEqual([]);
});
