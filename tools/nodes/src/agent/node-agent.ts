import { isDeepStrictEqual } from "node:util";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { ApiError, deleteObject, resourcePath, withRetries } from "@istiod/kubernetes";
import type { ClusterState } from "../kube/cluster-state.js";
import { isFinished, type Pod, type PodStatus, type Stored } from "../kube/objects.js";
import { keyOf } from "../kube/store.js";
import { types } from "../kube/types.js";
import { patchStatus } from "../kube/write-status.js";
import type { Namespaces } from "../network/commands.js";
import { addByPlugin, type CniPlugin } from "../network/cni-plugin.js";
import type { PodNetwork } from "../network/pod-network.js";
import { loggedBytes, readLogs } from "./container-logs.js";
import type { Images } from "./images.js";
import { type LogRequest, type ProgramRequest, startNodeServer } from "./node-server.js";
import type { LaunchContext } from "./pod-launch.js";
import { PodRunner } from "./pod-runner.js";
import { type ProgramOutput, type RemoteProgram, startProgram } from "./remote-program.js";
import { PodVolumes, withAccountVolume, writeNameFiles } from "./pod-volumes.js";
import { ServiceAccountTokens } from "./service-account-tokens.js";
import type { VolumeSources } from "./volume-content.js";

export interface NodeOptions {
  readonly cluster: ClusterState;
  readonly network: PodNetwork;
  readonly images: Images;
  readonly name: string;
  /** Third number of the node's addresses. */
  readonly index: number;
  /** Folder of the files of this node's pods. */
  readonly directory: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Milliseconds before the second restart of a container. */
  readonly backoffMs: number;
  /** Is called for each new network of a pod. Default: none. */
  readonly cniPlugin?: CniPlugin;
}

interface RunningPod {
  readonly runner: PodRunner;
  readonly update: () => void;
}

/** Runs the pods that are bound to a node. */
export class NodeAgent {
  readonly #options: NodeOptions;
  readonly #pods = new Map<string, RunningPod>();
  readonly #addresses = new Set<number>();
  #stopServer: (() => void) | undefined;
  #isStopped = false;

  constructor(options: NodeOptions) {
    this.#options = options;
  }

  /** Registers the node and starts its pods. */
  async start(): Promise<void> {
    const { cluster, directory } = this.#options;
    const socket = join(directory, "node.sock");
    this.#stopServer = await startNodeServer(socket, {
      exec: async ({ container, command, stdin, tty, ...pod }) => {
        const inside = await this.#runnerOf(pod)
          .runnerOf(container)
          .inside(command ?? [], { isTerminal: tty });
        return startProgram(inside, { hasInput: stdin, isTerminal: tty });
      },
      attach: (request) => this.#attach(request),
      logs: (request, signal) => this.#logs(request, signal),
      network: (pod) => this.#runnerOf(pod).enter,
    });
    await this.#register(socket);
    cluster.pods.listen((pod, previous) => this.#changed(pod, previous));
    const refresh = (object: Stored | undefined, previous: Stored | undefined): void => {
      const namespace = (object ?? previous)?.metadata.namespace;
      for (const pod of cluster.pods.values())
        if (namespace === undefined || pod.metadata.namespace === namespace) this.#pods.get(pod.metadata.uid)?.update();
    };
    cluster.configMaps.listen(refresh);
    cluster.secrets.listen(refresh);
    cluster.trustBundles.listen(refresh);
  }

  /** Kills all containers, and leaves the objects as they are. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopServer?.();
    await Promise.all([...this.#pods.values()].map(({ runner }) => runner.stop(0)));
  }

  #changed(pod: Pod | undefined, previous: Pod | undefined): void {
    if (this.#isStopped) return;
    if (previous && previous.metadata.uid !== pod?.metadata.uid)
      void this.#pods.get(previous.metadata.uid)?.runner.stop(0);
    if (!pod || pod.spec.nodeName !== this.#options.name) return;
    const running = this.#pods.get(pod.metadata.uid);
    if (!running && !isFinished(pod)) return this.#run(pod);
    const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata;
    if (!running) return void (deletionTimestamp !== undefined && this.#remove(pod));
    if (deletionTimestamp !== undefined) void running.runner.stop(deletionGracePeriodSeconds * 1000);
    running.runner.startEphemeral();
    const conditions = (status: PodStatus | undefined) => status?.conditions?.map(({ type, status }) => [type, status]);
    if (!isDeepStrictEqual(conditions(pod.status), conditions(previous?.status))) running.runner.report();
    if (!isDeepStrictEqual(pod.metadata.labels, previous?.metadata.labels)) running.update();
    else if (!isDeepStrictEqual(pod.metadata.annotations, previous?.metadata.annotations)) running.update();
  }

  /** @throws Error if the pod does not run on this node */
  #runnerOf({ namespace, pod }: { readonly namespace: string; readonly pod: string }): PodRunner {
    const running = this.#pods.get(this.#options.cluster.pods.get(`${namespace}/${pod}`)?.metadata.uid ?? "");
    if (!running) throw new Error(`pod ${namespace}/${pod} is not running`);
    return running.runner;
  }

  /** Returns the program of a container, with what it writes from now on. */
  async #attach({ container, stdin, ...pod }: ProgramRequest): Promise<RemoteProgram> {
    const runner = this.#runnerOf(pod).runnerOf(container);
    const { write, resize, exited } = runner.process;
    // Known before any input is written, to which the output may be an answer.
    const offset = await loggedBytes(this.#logFolder(pod, container), runner.restarts);
    const left = new AbortController();
    const logs = this.#logs({ ...pod, container, follow: true, previous: false, offset }, left.signal);
    return {
      outputs: asOutput(logs),
      status: exited.then(() => 0),
      // The input of a container stays open for the next client, unless it is for one only.
      ...(stdin &&
        write && {
          write: async (input) => {
            if (input !== null || runner.hasInputOnce) await write(input);
          },
        }),
      ...(resize && { resize }),
      leave: () => left.abort(),
    };
  }

  /** @throws Error if the pod is not known */
  #logFolder(
    { namespace, pod: name }: { readonly namespace: string; readonly pod: string },
    container: string,
  ): string {
    const { cluster, directory } = this.#options;
    const pod = cluster.pods.get(`${namespace}/${name}`);
    if (!pod) throw new Error(`pod ${namespace}/${name} is not known on this node`);
    return join(directory, pod.metadata.uid, "containers", container);
  }

  /** Returns the output of a container, also of one that has ended. It ends when the signal is aborted. */
  #logs({ namespace, pod, container, ...selection }: LogRequest, signal: AbortSignal): AsyncIterable<Buffer> {
    const folder = this.#logFolder({ namespace, pod }, container);
    const uid = this.#options.cluster.pods.get(`${namespace}/${pod}`)?.metadata.uid ?? "";
    const isRunning = (attempt: number): boolean => this.#pods.get(uid)?.runner.isRunning(container, attempt) ?? false;
    return readLogs({ folder, container: `${container} of pod ${namespace}/${pod}`, isRunning }, selection, signal);
  }

  #run(first: Pod): void {
    const { cluster, directory, backoffMs, network, cniPlugin } = this.#options;
    const { uid } = first.metadata;
    const folder = join(directory, uid);
    const key = keyOf(first);
    let latest = first;
    const pod = (): Pod => {
      const stored = cluster.pods.get(key);
      if (stored?.metadata.uid === uid) latest = stored;
      return withAccountVolume(latest);
    };
    const writer = new StatusWriter(cluster, first);
    const address = this.#allocate();
    const podIP = `${network.range}.${this.#options.index}.${address}`;
    const addresses = { podIP, hostIP: network.hostAddress };
    const volumes = new PodVolumes(folder, this.#sources(first, addresses));
    let namespaces: Namespaces | undefined;
    let isAdded = false;
    const prepare = async (): Promise<{ podIP: string; namespaces: Namespaces; launch: LaunchContext }> => {
      await volumes.update(pod());
      const { hostname = first.metadata.name, securityContext } = first.spec;
      const unprivileged = { name: "net.ipv4.ip_unprivileged_port_start", value: "0" };
      const sysctls = [unprivileged, ...(securityContext?.sysctls ?? [])];
      namespaces ??= await network.attach(podIP, hostname, sysctls);
      if (cniPlugin && !isAdded) await addByPlugin(cniPlugin, pod(), podIP, namespaces);
      isAdded = true;
      const nameFiles = await writeNameFiles(folder, first, { podIP, nameserver: network.hostAddress });
      const { images } = this.#options;
      const launch = {
        images,
        namespaces: namespaces.pid,
        directory: folder,
        nameFiles,
        volumes,
        sources: volumes.sources,
      };
      return { podIP, namespaces, launch };
    };
    const environment = { hostIP: network.hostAddress, directory: folder, backoffMs, prepare, pod };
    const runner = new PodRunner({ ...environment, write: (status) => writer.write(status) });
    const refresher = new VolumeRefresher(volumes, pod, cluster.report);
    this.#pods.set(uid, { runner, update: () => refresher.update() });
    refresher.schedule();
    if (first.metadata.deletionTimestamp !== undefined)
      void runner.stop((first.metadata.deletionGracePeriodSeconds ?? 0) * 1000);
    void runner.ended.then(() => this.#ended(pod(), address, refresher, writer)).catch(cluster.report);
  }

  async #ended(pod: Pod, address: number, refresher: VolumeRefresher, writer: StatusWriter): Promise<void> {
    refresher.stop();
    this.#addresses.delete(address);
    if (this.#isStopped) return;
    await writer.idle();
    this.#pods.delete(pod.metadata.uid);
    const current = this.#options.cluster.pods.get(keyOf(pod));
    if (current?.metadata.uid === pod.metadata.uid && current.metadata.deletionTimestamp === undefined) return;
    await this.#remove(pod);
  }

  /** Removes a deleted pod whose containers have ended. */
  async #remove(pod: Pod): Promise<void> {
    const { client, report } = this.#options.cluster;
    const { name, namespace, uid } = pod.metadata;
    await rm(join(this.#options.directory, uid), { recursive: true, force: true }).catch(report);
    await withRetries(() =>
      deleteObject(client, types.pods, { name, namespace }, { uid, gracePeriodSeconds: 0 }),
    ).catch((error: unknown) => {
      if (!(error instanceof ApiError) || (error.code !== "not-found" && error.code !== "conflict")) report(error);
    });
  }

  #sources(pod: Pod, addresses: { readonly podIP: string; readonly hostIP: string }): VolumeSources {
    const { client, configMaps, secrets, services, trustBundles } = this.#options.cluster;
    const { namespace } = pod.metadata;
    return {
      addresses,
      configMap: (name) => configMaps.get(`${namespace}/${name}`),
      secret: (name) => secrets.get(`${namespace}/${name}`),
      services: () => services.values(),
      tokens: new ServiceAccountTokens(client, pod),
      trustBundles: () => trustBundles.values(),
    };
  }

  #allocate(): number {
    for (let address = 2; address < 255; address++) {
      if (this.#addresses.has(address)) continue;
      this.#addresses.add(address);
      return address;
    }
    throw new Error(`node ${this.#options.name}: no address left, at most 253 pods`);
  }

  /** @param socket Unix socket on which the API server sends requests for containers */
  async #register(socket: string): Promise<void> {
    const { cluster, name, labels, network } = this.#options;
    const node = await cluster.client.json<Stored>({
      method: "PATCH",
      path: resourcePath(types.nodes, { name }),
      query: { fieldManager: "istiod-nodes", force: true },
      contentType: "application/apply-patch+yaml",
      body: JSON.stringify({
        apiVersion: "v1",
        kind: "Node",
        metadata: {
          name,
          labels: { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", ...labels },
          annotations: { "cluster.istiod.local/node-socket": socket },
        },
      }),
    });
    const now = new Date().toISOString();
    await patchStatus(cluster.client, types.nodes, node, {
      addresses: [
        { type: "InternalIP", address: network.hostAddress },
        { type: "Hostname", address: name },
      ],
      conditions: [
        { type: "Ready", status: "True", reason: "KubeletReady", lastTransitionTime: now, lastHeartbeatTime: now },
      ],
      capacity: { pods: "253" },
      allocatable: { pods: "253" },
      nodeInfo: { ...emptyNodeInfo, kubeletVersion: "v1.33.0" },
    });
  }
}

async function* asOutput(blocks: AsyncIterable<Buffer>): AsyncGenerator<ProgramOutput> {
  for await (const content of blocks) yield { stream: 1, content };
}

const emptyNodeInfo = {
  architecture: process.arch === "x64" ? "amd64" : process.arch,
  bootID: "",
  containerRuntimeVersion: "process://1",
  kernelVersion: "",
  kubeProxyVersion: "",
  machineID: "",
  operatingSystem: "linux",
  osImage: "",
  systemUUID: "",
};

/** Writes the last status of a pod, one at a time. */
class StatusWriter {
  readonly #cluster: ClusterState;
  readonly #pod: Pod;
  #next: PodStatus | undefined;
  #written: PodStatus | undefined;
  #writing: Promise<void> | undefined;

  constructor(cluster: ClusterState, pod: Pod) {
    this.#cluster = cluster;
    this.#pod = pod;
  }

  write(status: PodStatus): void {
    this.#next = status;
    this.#writing ??= this.#run();
  }

  /** Resolves when the last status is written. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  async #run(): Promise<void> {
    // States that follow each other at once are written together.
    await Promise.resolve();
    for (;;) {
      const status = this.#next;
      this.#next = undefined;
      if (!status) break;
      if (isDeepStrictEqual(status, this.#written)) continue;
      try {
        const { client, pods } = this.#cluster;
        pods.put(await withRetries(() => patchStatus(client, types.pods, this.#pod, status)));
        this.#written = status;
      } catch (error) {
        const isGone = error instanceof ApiError && (error.code === "not-found" || error.code === "conflict");
        if (!isGone) this.#cluster.report(error);
      }
    }
    this.#writing = undefined;
  }
}

const RETRY = 2000;

/** Keeps the files of a pod's volumes up to date, and renews its tokens. */
class VolumeRefresher {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(
    readonly volumes: PodVolumes,
    readonly pod: () => Pod,
    readonly report: (error: unknown) => void,
  ) {}

  update(): void {
    this.#running = this.#running
      .then(() => (this.#isStopped ? undefined : this.volumes.update(this.pod())))
      .then(() => this.schedule())
      .catch((error: unknown) => {
        this.report(error);
        this.schedule(RETRY);
      });
  }

  /** Sets the time of the next renewal of a token. */
  schedule(minDelay = 0): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    const { renewAt } = this.volumes.sources.tokens;
    const delay = renewAt === undefined ? RETRY : Math.max(renewAt - Date.now(), minDelay);
    this.#timer = setTimeout(() => (renewAt === undefined ? this.schedule() : this.update()), Math.min(delay, 2 ** 30));
    this.#timer.unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }
}
