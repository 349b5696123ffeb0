import { analysisKey, analysisStatusController, type AnalyzedObject, analyzedTypes } from "@istiod/controllers";
import { expect, it } from "vitest";
import { Changeable, eventually, meshSettings, testCluster } from "./support/cluster.js";

const apiVersion = "networking.istio.io/v1";
const group = "networking.istio.io";
const mesh = meshSettings();
const notFound = { code: "IST0101", name: "ReferencedResourceNotFound", level: "ERROR" } as const;
const unreachable = { code: "IST0130", name: "VirtualServiceUnreachableRule", level: "WARNING" } as const;
const url = "https://istio.io/latest/docs/reference/config/analysis/ist0101/";
const written = (code: string, name: string, level: string) => ({ level, type: { code, name } });

const route = (name: string, host: string) => ({
  apiVersion,
  kind: "VirtualService",
  metadata: { namespace: "shop", name },
  spec: { hosts: [host] },
});
const keyOf = (kind: string, name: string, namespace = "shop"): string => analysisKey({ group, kind, namespace, name });
type Results = Changeable<ReadonlyMap<string, AnalyzedObject> | undefined>;

const resultsOf = (results: readonly (readonly [string, AnalyzedObject])[]) => new Map(results);

async function analyzedCluster() {
  const cluster = await testCluster({ namespaces: ["shop"], types: analyzedTypes });
  const results: Results = new Changeable<ReadonlyMap<string, AnalyzedObject> | undefined>(undefined);
  const { objects } = cluster.server;
  const statusOf = (name: string, kind = "VirtualService") =>
    objects.get({ apiVersion, kind, namespace: "shop", name })?.["status"];
  const statusWrites = (): number => cluster.writes().filter((write) => write.endsWith("/status")).length;
  const run = () => cluster.run(analysisStatusController({ mesh, results }));
  return { ...cluster, results, objects, statusOf, statusWrites, run };
}

it("messages are written once, follow the generation, and are removed when they are resolved", async () => {
  const { objects, results, statusOf, statusWrites, run } = await analyzedCluster();
  await objects.create(route("cart", "cart"));
  await objects.create(route("clean", "clean"));
  const first = run();
  const messages = [unreachable, { ...notFound, documentationUrl: url }, unreachable];
  const clean = [keyOf("VirtualService", "clean"), { generation: 1, messages: [] }] as const;
  results.set(resultsOf([[keyOf("VirtualService", "cart"), { generation: 1, messages }], clean]));
  const both = [
    { documentationUrl: url, ...written("IST0101", "ReferencedResourceNotFound", "ERROR") },
    written("IST0130", "VirtualServiceUnreachableRule", "WARNING"),
  ];
  await eventually(() => expect(statusOf("cart")).toEqual({ observedGeneration: "1", validationMessages: both }));
  first.stop();

  // A restart writes nothing, not even before the first analysis is complete.
  const current = results.current();
  results.set(undefined);
  run();
  results.set(current);
  // A result for an older generation is not written to the new one.
  await objects.update(route("cart", "cart2"));
  results.set(resultsOf([[keyOf("VirtualService", "cart"), { generation: 1, messages: [notFound] }], clean]));
  results.set(resultsOf([[keyOf("VirtualService", "cart"), { generation: 2, messages }], clean]));
  await eventually(() => expect(statusOf("cart")).toEqual({ observedGeneration: "2", validationMessages: both }));
  results.set(resultsOf([[keyOf("VirtualService", "cart"), { generation: 2, messages: [] }], clean]));
  await eventually(() => expect(statusOf("cart")).toMatchObject({ validationMessages: [] }));
  expect([statusWrites(), statusOf("clean")]).toEqual([3, undefined]);
});

it("other fields of the status, objects that are not analyzed, and excluded namespaces are left alone", async () => {
  const { objects, results, statusOf, statusWrites, run } = await analyzedCluster();
  const foreign = { validationMessages: [written("IST0101", "ReferencedResourceNotFound", "ERROR")] };
  for (const name of ["theirs", "ours"]) await objects.create(route(name, name));
  await objects.updateStatus({ ...route("theirs", "theirs"), status: foreign });
  await objects.updateStatus({ ...route("ours", "ours"), status: foreign });
  await objects.create({ ...route("db", "db"), kind: "ServiceEntry" });
  const conditions = [{ type: "Reconciled", status: "True" }];
  const addresses = [{ host: "db", value: "240.240.0.1" }];
  await objects.updateStatus({ ...route("db", "db"), kind: "ServiceEntry", status: { addresses, conditions } });
  run();
  results.set(
    resultsOf([
      [keyOf("ServiceEntry", "db"), { generation: 1, messages: [notFound] }],
      // Messages of a former control plane are removed from objects that this one reads.
      [keyOf("VirtualService", "ours"), { generation: 1, messages: [] }],
      [keyOf("VirtualService", "web", "excluded"), { generation: 1, messages: [notFound] }],
    ]),
  );
  await eventually(() => expect(statusWrites()).toBe(2));
  expect(statusOf("db", "ServiceEntry")).toMatchObject({ addresses, conditions, observedGeneration: "1" });
  expect(statusOf("ours")).toMatchObject({ validationMessages: [] });
  expect(statusOf("theirs")).toEqual(foreign);
});
