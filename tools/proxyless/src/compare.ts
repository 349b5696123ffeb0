// Compares the resources of random meshes with those of Istio's pilot-discovery:
// `npm run compare -w tools/proxyless -- --original FILE [--meshes 200] [--seed 1] [--only ns7] [--examples 1]`.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type GrpcTypeName, grpcTypes, positive, Random, runCommand, startOriginal } from "@istiod/bench";
import { startCluster } from "@istiod/cluster";
import { claimSubnet, startIstiodInProcess } from "@istiod/e2e";
import { createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { ComparisonReport } from "@istiod/parity";
import { Closers } from "@istiod/runtime";
import type { CauseContext } from "./comparison/cause.js";
import { causes } from "./comparison/causes.js";
import { type MeshClient, type Resources, resourcesOf, type Server } from "./comparison/resources.js";
import { manifest, type MeshObject, randomMesh } from "./random-mesh.js";

const { values } = parseArgs({
  options: {
    original: { type: "string" },
    meshes: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    only: { type: "string" },
    examples: { type: "string", default: "1" },
  },
});

/** Number of clients that ask at the same time. */
const concurrency = 8;
const addresses = Array.from({ length: 60 }, (_, i) => `10.1.0.${i + 1}`);

interface ComparedMesh {
  readonly objects: readonly MeshObject[];
  readonly client: MeshClient;
}

function comparedMesh(random: Random, namespace: string): ComparedMesh {
  const { objects, services } = randomMesh(random, { namespace, prefix: "s", addresses, isAlone: true });
  const tls = random.chance(0.5) ? { "security.istio.io/tlsMode": "istio" } : {};
  const labels = { app: random.pick(["client", "server"]), version: random.pick(["v1", "v2"]), ...tls };
  const all = objects.flatMap(endpointAddresses);
  // Istio gives a client the locality of one of several endpoints with its address, by chance.
  const own = all.filter((each) => all.indexOf(each) === all.lastIndexOf(each));
  const isServer = own.length > 0 && random.chance(0.7);
  const address = isServer ? random.pick(own) : "10.2.0.1";
  const [region = "", zone = ""] = random.pick([["r1", "z1"], ["r2", "z1"], []]);
  return { objects, client: { namespace, address, labels, locality: { region, zone }, services } };
}

/** Returns the addresses of a service's endpoints: a client with one of them is a server of the service. */
function endpointAddresses({ spec }: MeshObject): readonly string[] {
  const { endpoints = [] } = spec as { readonly endpoints?: readonly { readonly address: string }[] };
  return endpoints.map(({ address }) => address).filter((address) => addresses.includes(address));
}

async function compare(): Promise<boolean> {
  const { original, only } = values;
  if (original === undefined) throw new Error("--original is required");
  const [count, seed] = [positive("meshes", values.meshes), positive("seed", values.seed)];
  const closers = new Closers();
  try {
    const work = await mkdtemp(join(tmpdir(), "proxyless-compare-"));
    closers.defer(() => rm(work, { recursive: true, force: true }));
    const config = join(work, "config");
    await mkdir(config);
    const meshes = Array.from({ length: count }, (_, i) => comparedMesh(new Random(seed * 100_000 + i), `ns${i}`));
    for (const { objects, client } of meshes)
      await writeFile(join(config, `${client.namespace}.yaml`), manifest(objects));
    const report = new ComparisonReport(causes, positive("examples", values.examples));
    const servers = await startBoth(closers, original, work, config);
    const next = meshes[Symbol.iterator]();
    await Promise.all(
      Array.from({ length: concurrency }, async () => {
        for (const { objects, client } of next) {
          if (only !== undefined && client.namespace !== only) continue;
          const [theirs, ours] = await resourcesOf(client, servers);
          addResources(report, { namespace: client.namespace, objects }, [theirs, ours]);
        }
      }),
    );
    report.print();
    console.log(`${report.unexplained} resources differ without a known cause`);
    return report.unexplained === 0;
  } finally {
    await closers.close();
  }
}

function addResources(
  report: ComparisonReport<GrpcTypeName, CauseContext>,
  { namespace, objects }: { readonly namespace: string; readonly objects: readonly MeshObject[] },
  [theirs, ours]: readonly [Resources, Resources],
): void {
  for (const type of Object.keys(grpcTypes) as GrpcTypeName[])
    for (const name of new Set([...Object.keys(theirs[type]), ...Object.keys(ours[type])]))
      report.add(type, `${namespace} ${name}`, [theirs[type][name], ours[type][name]], { name, objects });
}

/** Starts Istio and this control plane with the same directory. Istio does not start without an API server. */
async function startBoth(
  closers: Closers,
  original: string,
  work: string,
  config: string,
): Promise<readonly [Server, Server]> {
  const meshConfig = join(work, "mesh.yaml");
  await writeFile(meshConfig, "trustDomain: cluster.local\n");
  const subnet = await claimSubnet();
  closers.defer(() => subnet.release());
  const istiod = await startIstiodInProcess({ address: subnet.address(1), config, work });
  closers.defer(() => istiod.kill());
  const cluster = await startCluster();
  closers.defer(() => cluster.stop());
  const kubeconfig = join(work, "kubeconfig");
  await writeFile(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
  const client = createApiClient(await parseKubeconfig(cluster.kubeconfig));
  const body = JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: "istio-system" } });
  await client.json({ method: "POST", path: "/api/v1/namespaces", body });
  client.close();
  const judge = await startOriginal(original, {
    kubeconfig,
    work,
    debounce: "100ms",
    flags: { configDir: config, meshConfig },
  });
  closers.defer(() => judge.stop());
  return [
    { host: "127.0.0.1", port: judge.port },
    { host: subnet.address(1), port: 15010 },
  ];
}

await runCommand("compare", compare);
