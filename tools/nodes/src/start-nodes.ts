import { mkdir, mkdtemp, readdir, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { builtInImages } from "./agent/built-in-images.js";
import { unpackLayout } from "./agent/image-layout.js";
import type { Images, ImageSources } from "./agent/images.js";
import { NodeAgent } from "./agent/node-agent.js";
import { startDeployments } from "./controllers/deployments.js";
import { startEndpointSlices } from "./controllers/endpoint-slices.js";
import { startGarbageCollector } from "./controllers/garbage-collector.js";
import { startJobs } from "./controllers/jobs.js";
import { startLoadBalancers } from "./controllers/load-balancers.js";
import { startDaemonSets } from "./controllers/daemon-sets.js";
import { startReplicaSets } from "./controllers/replica-sets.js";
import { startStatefulSets } from "./controllers/stateful-sets.js";
import { startRootCertificates } from "./controllers/root-certificates.js";
import { startScheduler } from "./controllers/scheduler.js";
import { type ClusterState, followCluster } from "./kube/cluster-state.js";
import { createMachine, type Machine } from "./machine/machine.js";
import type { CniPlugin } from "./network/cni-plugin.js";
import { startDnsServer } from "./network/dns-server.js";
import { forwardPort } from "./network/forward-port.js";
import { createPodNetwork, type PodNetwork } from "./network/pod-network.js";
import { startServiceProxy } from "./network/service-proxy.js";

export interface NodesOptions {
  /** The administrator's kubeconfig of an API server on a loopback address of this machine, as YAML. */
  readonly kubeconfig: string;
  /** Number of nodes, at most 200. Default 2. */
  readonly nodes?: number;
  /** Images in addition to the built-in ones, or instead of them. */
  readonly images?: ImageSources;
  /** Milliseconds before the second restart of a container, doubled for each further one. Default 1000. */
  readonly restartBackoffMs?: number;
  /** A plugin of the Container Network Interface, as a node's runtime calls it for each pod. Default: none. */
  readonly cniPlugin?: CniPlugin;
  /** Receives failures of the controllers and nodes, which repeat what failed. */
  readonly onError?: (error: unknown) => void;
}

export interface Nodes {
  /** Address of this machine for pods. */
  readonly hostAddress: string;
  /** Folder of the nodes' files. The logs of a container are in `<pod's UID>/containers/<name>/<restart>.log`. */
  readonly directory: string;
  /** Creates a machine outside of the cluster, in the network of the pods. It is stopped with the nodes. */
  createMachine(name: string): Promise<Machine>;
  /** Kills all containers and machines, and removes the network and all files. */
  stop(): Promise<void>;
}

/**
 * Start of the names of folders: a number of a process means nothing in another PID namespace, whose processes may
 * share the folder.
 */
const PREFIX = `istiod-nodes-ns${/\d+/.exec(await readlink("/proc/self/ns/pid").catch(() => ""))?.[0] ?? ""}-`;

/** Starts nodes and controllers for an API server. They end with this process. */
export async function startNodes(options: NodesOptions): Promise<Nodes> {
  const { kubeconfig, nodes = 2, restartBackoffMs = 1000, onError = () => undefined } = options;
  const access = await parseKubeconfig(kubeconfig);
  const client = createApiClient(access, { userAgent: "istiod-nodes", qps: 1000, burst: 2000, compression: false });
  const closers: (() => unknown)[] = [() => client.close()];
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    await removeRemains();
    const directory = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`));
    closers.push(() => rm(directory, { recursive: true, force: true }));
    const network = await createPodNetwork();
    closers.push(() => network.close());
    const server = new URL(client.server);
    const port = Number(server.port);
    closers.push(await forwardPort(network.hostAddress, port, { host: server.hostname, port }));
    const cluster = await followCluster(client, onError);
    closers.push(() => cluster.stores.forEach((store) => store.stop()));
    closers.push(
      ...(await startControllers(cluster, network, Buffer.from(access.cluster.caData ?? "", "base64").toString())),
    );
    const images = { ...(await builtInImages()), ...(await unpackedImages(options.images ?? {}, directory)) };
    const cni = options.cniPlugin && { cniPlugin: options.cniPlugin };
    for (let index = 1; index <= nodes; index++) {
      const folder = join(directory, `node-${index}`);
      await mkdir(folder);
      const common = { cluster, network, images, directory: folder, backoffMs: restartBackoffMs, ...cni };
      const agent = new NodeAgent({ ...common, name: `node-${index}`, index, labels: zoneLabels(index) });
      closers.push(() => agent.stop());
      await agent.start();
    }
    const machines = machinesOf(network, directory);
    closers.push(() => machines.stop());
    return { hostAddress: network.hostAddress, directory, createMachine: machines.create, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Unpacks images that are layouts below a folder. */
async function unpackedImages(sources: ImageSources, directory: string): Promise<Images> {
  const roots = join(directory, "images");
  await mkdir(roots);
  const images = Object.entries(sources).map(
    async ([name, image]) => [name, "layout" in image ? await unpackLayout(image.layout, roots) : image] as const,
  );
  return Object.fromEntries(await Promise.all(images));
}

/** Third number of the addresses of machines; nodes have those up to 200, and load balancers 254. */
const MACHINES = 250;

function machinesOf(network: PodNetwork, directory: string) {
  const machines: Machine[] = [];
  let last = 1;
  return {
    create: async (name: string): Promise<Machine> => {
      const address = `${network.range}.${MACHINES}.${++last}`;
      const machine = await createMachine({ name, address, network, directory: join(directory, "machines") });
      machines.push(machine);
      return machine;
    },
    stop: async (): Promise<void> => void (await Promise.all(machines.map((machine) => machine.stop()))),
  };
}

function zoneLabels(index: number): Record<string, string> {
  return { "topology.kubernetes.io/region": "local", "topology.kubernetes.io/zone": `local-${index}` };
}

async function startControllers(cluster: ClusterState, network: PodNetwork, certificate: string) {
  return [
    await startDnsServer(cluster, network.hostAddress),
    startServiceProxy(cluster, network),
    startScheduler(cluster),
    startDeployments(cluster),
    startReplicaSets(cluster),
    startStatefulSets(cluster),
    startDaemonSets(cluster),
    startJobs(cluster),
    startEndpointSlices(cluster),
    startGarbageCollector(cluster),
    startRootCertificates(cluster, certificate),
    startLoadBalancers(cluster, network.range),
  ];
}

/** Removes files of processes that were killed. Their containers and networks ended with them. */
async function removeRemains(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = Number(new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]);
    if (pid > 0 && !isRunning(pid)) await rm(join(tmpdir(), name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
