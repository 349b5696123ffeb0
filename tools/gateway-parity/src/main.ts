// Compares statuses and resources of random meshes of the Gateway API with those of Istio's pilot-discovery:
// `npm run compare -w tools/gateway-parity -- --original FILE --definitions FOLDER [--meshes 20] [--seed 1]`.
import { appendFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { positive, runCommand } from "@istiod/bench";
import { mint } from "@istiod/ca/testing";
import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { gatewayMesh, gatewayMeshProxies, type MeshObject, randomObjects, toYaml } from "@istiod/gateway-api/testing";
import { type JsonDifference, jsonDifferences } from "@istiod/explain";
import { Closers } from "@istiod/runtime";
import fc from "fast-check";
import type { StoredObject } from "./api-objects.js";
import { type AnyStatus, comparableStatus, storedStatus } from "./comparable-status.js";
import { OriginalMesh } from "./original-mesh.js";
import { type ComparedNode, OwnMesh, typeUrls } from "./own-mesh.js";
import { Report } from "./report.js";
import { type JsonObject, normalActual, type Type } from "@istiod/parity";

const { values } = parseArgs({
  options: {
    original: { type: "string" },
    definitions: { type: "string", multiple: true },
    meshes: { type: "string", default: "20" },
    seed: { type: "string", default: "1" },
    only: { type: "string" },
    examples: { type: "string", default: "1" },
    log: { type: "string" },
  },
});

const env = { ENABLE_GATEWAY_API_INFERENCE_EXTENSION: "true" };
/** Statuses are written; the other parts of the API's controllers are as by default, except for deployments. */
const originalEnv = {
  ...env,
  PILOT_ENABLE_GATEWAY_API_STATUS: "true",
  PILOT_ENABLE_GATEWAY_API_GATEWAYCLASS_CONTROLLER: "true",
  PILOT_ENABLE_METADATA_EXCHANGE: "true",
  PILOT_ENABLE_ALPN_FILTER: "true",
  POD_NAME: "istiod-original",
};
const types: readonly Type[] = ["cds", "eds", "lds", "rds"];

const nodes: readonly ComparedNode[] = gatewayMeshProxies.map(({ type, namespace, name, ip, labels }) => ({
  id: `${type}~${ip}~${name}.${namespace}~${namespace}.svc.cluster.local`,
  metadata: {
    NAMESPACE: namespace,
    LABELS: { ...labels },
    CLUSTER_ID: "Kubernetes",
    ISTIO_VERSION: "1.31.0",
    INSTANCE_IPS: ip,
  },
}));

/** Returns the objects in the order of their ages. */
function wavesOf(objects: readonly MeshObject[]): readonly (readonly MeshObject[])[] {
  const isOld = ({ metadata }: MeshObject): boolean => (metadata.creationTimestamp ?? "") < "2024-01-01T00:00:03Z";
  return [objects.filter(isOld), objects.filter((each) => !isOld(each))];
}

async function compare(): Promise<boolean> {
  const { original, definitions = [], only, log } = values;
  if (original === undefined) throw new Error("--original is required");
  const [count, seed] = [positive("meshes", values.meshes), positive("seed", values.seed)];
  const closers = new Closers();
  try {
    const issuer = await mint({ ca: true });
    const { pem, keyPem } = await mint({ issuer, names: [{ type: "dns", value: "*.example.com" }] });
    const base = gatewayMesh({ certificate: pem, key: keyPem, root: issuer.pem });
    const istio = await OriginalMesh.start(closers, { binary: original, definitions, env: originalEnv, base });
    const report = new Report(positive("examples", values.examples));
    const meshes = fc.sample(randomObjects, { numRuns: count, seed });
    if (log !== undefined) await writeFile(log, "");
    for (const [index, objects] of meshes.entries()) {
      if (only !== undefined && Number(only) !== index) continue;
      const { stored, rejected } = await istio.apply(wavesOf(objects));
      for (const reason of rejected)
        report.note(`rejected by the API server: ${reason.replaceAll(/-\d|\[\d+\]/g, "")}`);
      const lines = await compareMesh(`mesh ${index}`, istio, stored, report);
      if (log !== undefined && lines.length > 0) await appendFile(log, `${lines.join("\n")}\n${toYaml(objects)}\n`);
    }
    report.print();
    return report.differences === 0;
  } finally {
    await closers.close();
  }
}

/**
 * Reports whether a message is Istio's with an addition. Istio writes kinds with their groups, and the listeners that
 * deny a route in any order.
 */
function isAddition({ expected, actual }: JsonDifference): boolean {
  if (typeof expected !== "string" || typeof actual !== "string") return false;
  const parts = new Set(actual.split("; "));
  return expected
    .replaceAll("gateway.networking.k8s.io/v1/", "")
    .split("; ")
    .every((part) => parts.has(part));
}

async function compareMesh(mesh: string, istio: OriginalMesh, stored: readonly StoredObject[], report: Report) {
  const own = new OwnMesh(stored, env);
  for (const reason of own.rejected) report.note(`rejected here: ${reason}`);
  const lines: string[] = [];
  const statuses = own.statuses();
  for (const object of stored) {
    const { kind, metadata } = object;
    const key = metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
    const ours = statuses.get(`${kind} ${key}`);
    const isOfApi = object.apiVersion.startsWith("gateway.") || object.apiVersion.startsWith("inference.");
    if (!isOfApi || kind === "ReferenceGrant") continue;
    const mine = ours && comparableStatus(ours as AnyStatus, metadata.namespace ?? "");
    const found = jsonDifferences(storedStatus(object) ?? {}, mine ?? {}).filter((each) => !isAddition(each));
    lines.push(...report.add(`status ${kind}`, `${mesh} ${kind} ${key}`, found));
  }
  for (const node of nodes) {
    const theirs = await istio.resources(
      create(NodeSchema, { id: node.id, metadata: node.metadata }),
      types.map((type) => typeUrls[type]),
    );
    const mine = own.resources(node, types);
    for (const [at, type] of types.entries()) {
      const [a, b] = [theirs[at] ?? new Map<string, Uint8Array>(), mine[at] ?? new Map<string, Uint8Array>()];
      for (const name of new Set([...a.keys(), ...b.keys()])) {
        const json = (bytes: Uint8Array | undefined): JsonObject | undefined =>
          bytes && (normalActual(type, bytes) as JsonObject);
        const found = jsonDifferences(json(a.get(name)), json(b.get(name)));
        lines.push(...report.add(type, `${mesh} ${node.id.split("~")[2]} ${name}`, found));
      }
    }
  }
  return lines;
}

await runCommand("compare", compare);
