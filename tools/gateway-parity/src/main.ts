// Compares statuses and resources of random or hostile meshes of the Gateway API with those of Istio's pilot-discovery:
// `npm run compare -w tools/gateway-parity -- --original FILE --definitions FOLDER`.
import { appendFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { positive, runCommand } from "@istiod/bench";
import { mint } from "@istiod/ca/testing";
import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { gatewayMesh, gatewayMeshProxies, type MeshObject, randomObjects, toYaml } from "@istiod/gateway-api/testing";
import { Closers } from "@istiod/runtime";
import fc from "fast-check";
import type { StoredObject } from "./api-objects.js";
import { type AnyStatus, comparableStatus, storedStatus } from "./comparable-status.js";
import { hostileMeshes } from "./hostile/hostile-meshes.js";
import { OriginalMesh } from "./original-mesh.js";
import { type ComparedNode, OwnMesh, typeUrls } from "./own-mesh.js";
import { ComparisonReport, type JsonObject, normalActual, type Pair, type Type } from "@istiod/parity";
import { randomPatches, randomTraffic } from "./traffic/index.js";
import { causes } from "./causes.js";
import type { ComparedType, CompareContext } from "./compare-context.js";

const { values } = parseArgs({
  options: {
    original: { type: "string" },
    definitions: { type: "string", multiple: true },
    meshes: { type: "string", default: "20" },
    seed: { type: "string", default: "1" },
    only: { type: "string" },
    hostile: { type: "string" },
    traffic: { type: "boolean", default: false },
    patches: { type: "boolean", default: false },
    quiet: { type: "string", default: "1000" },
    examples: { type: "string", default: "1" },
    log: { type: "string" },
    env: { type: "string", multiple: true, default: [] },
  },
});

/** Environment variables of both. */
const env: Readonly<Record<string, string>> = {
  ENABLE_GATEWAY_API_INFERENCE_EXTENSION: "true",
  ...Object.fromEntries(values.env.map((each) => [each.split("=", 1)[0] ?? "", each.slice(each.indexOf("=") + 1)])),
};
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

/** A mesh that is compared, with its name in the report. */
interface ComparedMesh {
  readonly name: string;
  readonly objects: readonly MeshObject[];
}

/** Istio's pilot-discovery does not validate what it reads: its webhook does. */
const isAccepted = (object: MeshObject): boolean => new OwnMesh([object as StoredObject], env).rejected.length === 0;

function meshes(): readonly ComparedMesh[] {
  const { hostile } = values;
  if (hostile !== undefined) return hostileMeshes(positive("hostile", hostile));
  const [numRuns, seed] = [positive("meshes", values.meshes), positive("seed", values.seed)];
  if (values.traffic || values.patches)
    return fc
      .sample(values.patches ? randomPatches : randomTraffic, { numRuns, seed })
      .map((objects, index) => ({ name: `mesh ${index}`, objects: objects.filter(isAccepted) }));
  return fc.sample(randomObjects, { numRuns, seed }).map((objects, index) => ({ name: `mesh ${index}`, objects }));
}

async function compare(): Promise<boolean> {
  const { original, definitions = [], only, log } = values;
  if (original === undefined) throw new Error("--original is required");
  const all = meshes();
  const closers = new Closers();
  try {
    const issuer = await mint({ ca: true });
    const { pem, keyPem } = await mint({ issuer, names: [{ type: "dns", value: "*.example.com" }] });
    const base = gatewayMesh({ certificate: pem, key: keyPem, root: issuer.pem });
    const quietMs = positive("quiet", values.quiet);
    const istio = await OriginalMesh.start(closers, { binary: original, definitions, env: originalEnv, base, quietMs });
    const report = new ComparisonReport(causes, positive("examples", values.examples));
    if (log !== undefined) await writeFile(log, "");
    for (const [index, { name, objects }] of all.entries()) {
      if (only !== undefined && !only.split(",").includes(String(index))) continue;
      if (index % 25 === 0) console.error(`mesh ${index} of ${all.length}`);
      const { stored, rejected } = await istio.apply(wavesOf(objects));
      for (const reason of rejected)
        report.count(`rejected by the API server: ${reason.replaceAll(/-\d|\[\d+\]/g, "")}`);
      const lines = await compareMesh(name, istio, stored, report);
      if (log !== undefined && lines.length > 0) await appendFile(log, `${lines.join("\n")}\n${toYaml(objects)}\n`);
    }
    report.print();
    console.log(`${report.unexplained} differ without a known cause`);
    return report.unexplained === 0;
  } finally {
    await closers.close();
  }
}

type Report = ComparisonReport<ComparedType, CompareContext>;

/** Returns the differences without a known cause, as text. */
async function compareMesh(
  mesh: string,
  istio: OriginalMesh,
  stored: readonly StoredObject[],
  report: Report,
): Promise<readonly string[]> {
  const own = new OwnMesh(stored, env);
  for (const reason of own.rejected) report.count(`rejected here: ${reason}`);
  const lines = compareStatuses(mesh, own, stored, report);
  for (const node of nodes) {
    const urls = types.map((type) => typeUrls[type]);
    const theirs = await istio.resources(create(NodeSchema, { id: node.id, metadata: node.metadata }), urls);
    const ours = own.resources(node, types);
    const routed = routesOfListeners(ours[types.indexOf("lds")] ?? new Map());
    for (const [at, type] of types.entries()) {
      const [a, b] = [theirs[at] ?? new Map<string, Uint8Array>(), ours[at] ?? new Map<string, Uint8Array>()];
      // A proxy asks for the routes of its listeners, which EnvoyFilters can remove.
      const asked = [...b.keys()].filter((name) => type !== "rds" || routed.has(name));
      for (const name of new Set([...a.keys(), ...asked])) {
        const pair = [a.get(name), b.get(name)].map(
          (bytes) => bytes && (normalActual(type, bytes) as JsonObject),
        ) as unknown as Pair;
        const where = `${mesh} ${node.id.split("~")[2]} ${name}`;
        lines.push(...report.add(type, where, pair, { name, objects: stored }));
      }
    }
  }
  return lines;
}

/** Returns the names of the route configurations that listeners refer to. */
function routesOfListeners(listeners: ReadonlyMap<string, Uint8Array>): ReadonlySet<string> {
  const names = [...listeners.values()].flatMap((bytes) =>
    [...JSON.stringify(normalActual("lds", bytes)).matchAll(/"routeConfigName":"([^"]*)"/g)].map(
      ([, name = ""]) => name,
    ),
  );
  return new Set(names);
}

function compareStatuses(mesh: string, own: OwnMesh, stored: readonly StoredObject[], report: Report): string[] {
  const statuses = own.statuses();
  return stored.filter(hasStatus).flatMap((object) => {
    const { namespace = "", name: ownName } = object.metadata;
    const name = `${object.kind} ${namespace === "" ? ownName : `${namespace}/${ownName}`}`;
    const ours = statuses.get(name);
    const pair = [storedStatus(object) ?? {}, ours ? comparableStatus(ours as AnyStatus, namespace) : {}] as const;
    return report.add("status", `${mesh} ${name}`, pair, { name, objects: stored });
  });
}

const hasStatus = ({ apiVersion, kind }: StoredObject): boolean =>
  /^(gateway|inference)\./.test(apiVersion) && kind !== "ReferenceGrant";

await runCommand("compare", compare);
