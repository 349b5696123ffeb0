import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Closers } from "@istiod/runtime";
import { requireEnvoy } from "../envoy/require-envoy.js";
import { statUrl, statValue } from "../envoy/stats.js";
import { type Istiod, type IstiodPlaces, refusalsIn, startIstiodInProcess } from "../istiod/istiod.js";
import { allStarted } from "../mesh/all-started.js";
import { ConfigDirectory } from "../mesh/config-directory.js";
import { kubernetesObjects } from "../mesh/kubernetes-objects.js";
import { issueToken } from "../mesh/proxy.js";
import { claimSubnet, type Subnet } from "../mesh/subnet.js";
import { createWorkDirectory } from "../mesh/work-directory.js";
import { place, servicePort, type Workload, workloadNamed, type WorkloadOptions } from "../mesh/workload.js";
import { type Pod, proxyGroup, startPod, startPodProxy } from "./pod.js";
import type { PodAnswer, PodSettings } from "./pod-orders.js";
import { makePodNetwork, type PodNetwork, type RulesOf } from "./pod-network.js";

/** A workload in a pod of its own. istiod has no objects for one with proxy `none`. */
export interface RedirectedWorkload extends WorkloadOptions {
  /** Ports on which its application serves HTTP. Default: the service port. */
  readonly httpPorts?: readonly number[];
  /** Ports on which its application serves HTTP/2 without TLS to clients with prior knowledge. */
  readonly http2Ports?: readonly number[];
  /** Ports on which its application echoes TCP. */
  readonly tcpPorts?: readonly number[];
  /** Ports on which its application echoes what comes over TLS, with `certificate`. */
  readonly tlsPorts?: readonly number[];
  readonly certificate?: PodSettings["certificate"];
}

export interface RedirectedMeshOptions {
  readonly workloads: readonly RedirectedWorkload[];
  /** The interception mode of inbound connections. Default: REDIRECT. */
  readonly inbound?: "REDIRECT" | "TPROXY";
  /** The program that applies the rules. Default: iptables. */
  readonly rules?: RulesOf;
  /** Istio objects, YAML. `{{name}}` expands to a workload's address. */
  readonly objects?: string;
  /** Environment variables of istiod. */
  readonly istiodEnv?: Readonly<Record<string, string>>;
}

/** The name of a TLS server and the roots that verify it, PEM. */
export interface TlsServer {
  readonly serverName: string;
  readonly roots: string;
}

/** A mesh in which each workload has its own network namespace, with its traffic redirected to its proxy. */
export interface RedirectedMesh {
  /** Address of this machine on the bridge of the pods. */
  readonly gateway: string;
  /** The directory of a workload's agent. */
  directory(workload: string): string;
  address(workload: string): string;
  /** The cluster IP of a workload's service. */
  service(workload: string): string;
  /** Sends an HTTP request from a workload's application to `at`, by default the URL's host. */
  http(
    from: string,
    url: string,
    options?: {
      readonly at?: string;
      readonly headers?: Readonly<Record<string, string>>;
      /** Sends it over HTTP/2 without TLS, by prior knowledge. */
      readonly http2?: boolean;
    },
  ): Promise<PodAnswer>;
  /** Sends text over TCP from a workload's application, and returns the response. */
  tcp(from: string, host: string, port: number, text: string): Promise<PodAnswer>;
  /** Does the same over TLS of the applications, in which the server is verified. */
  tls(from: string, host: string, port: number, text: string, server: TlsServer): Promise<PodAnswer>;
  /** Resolves a name from a workload's application at a DNS server. */
  dns(from: string, name: string, server: string): Promise<PodAnswer>;
  /** Writes objects, and waits until every proxy has acknowledged the result. */
  apply(file: string, objects: string): Promise<void>;
  /** Returns a statistic of a workload's Envoy; 0 if it has none of that name. */
  stat(workload: string, stat: string): Promise<number>;
  refusals(): readonly string[];
  close(): Promise<void>;
}

/**
 * Starts a mesh and resolves when all proxies are ready.
 *
 * @throws Error if this machine cannot run one; call `whyNoRedirection` first
 */
export async function startRedirectedMesh(options: RedirectedMeshOptions): Promise<RedirectedMesh> {
  const envoy = await requireEnvoy();
  const { inbound = "REDIRECT", rules = "iptables", objects = "", istiodEnv = {} } = options;
  const closers = new Closers();
  return closers.closeOnError(async () => {
    const subnet = await claimSubnet();
    closers.defer(() => subnet.release());
    const work = await createWorkDirectory(closers);
    const workloads = options.workloads.map((o, n) => ({ ...o, ...place(o, subnet.pod(n + 1), subnet.pod(n + 1)) }));
    const known = workloads.filter((w) => w.proxy !== "none");
    const network = await makePodNetwork(subnet);
    closers.defer(() => network.close());
    const places: IstiodPlaces = {
      address: subnet.pod(254),
      debugAddress: subnet.address(253),
      config: join(work, "config"),
      work,
      env: istiodEnv,
    };
    const config = new ConfigDirectory(places, (text) => expandAddresses(text, workloads));
    await config.create({ workloads: kubernetesObjects(known, subnet, true), objects });
    await writeFile(resolvConf(places), `nameserver ${network.gateway}\n`);
    for (const w of known) await issueToken(places, w, randomBytes(32).toString("base64url"));
    const istiod = await startIstiodInProcess(places);
    closers.defer(() => istiod.kill());
    for (const [n, w] of workloads.entries()) await network.add(w.name, n + 1);
    const pods = await startPods(workloads, { envoy, inbound, rules, network, istiod: places }, closers);
    return runningMesh({ subnet, network, places, workloads, pods, istiod, config, close: () => closers.close() });
  });
}

interface PodContext {
  readonly envoy: string;
  readonly inbound: "REDIRECT" | "TPROXY";
  readonly rules: RulesOf;
  readonly network: PodNetwork;
  readonly istiod: IstiodPlaces;
}

type PlacedWorkload = RedirectedWorkload & Workload;

/** Starts the applications and proxies of all pods at once. Returns the pods by workload. */
async function startPods(
  workloads: readonly PlacedWorkload[],
  context: PodContext,
  closers: Closers,
): Promise<ReadonlyMap<string, Pod>> {
  const { network, istiod, envoy } = context;
  const pods = new Map<string, Pod>();
  const proxies: (() => Promise<void>)[] = [];
  closers.defer(() => Promise.allSettled([...pods.values()].map((pod) => pod.kill())));
  closers.defer(() => Promise.allSettled(proxies.map((kill) => kill())));
  await allStarted(
    workloads.map(async (w) => {
      const { name } = w;
      pods.set(name, await startPod(network.inside(name), podSettings(w)));
      if (w.proxy === "none") return;
      await captureTraffic(name, context);
      const env = {
        ISTIO_META_DNS_CAPTURE: "true",
        DNS_RESOLV_CONF: resolvConf(istiod),
        ISTIO_META_INTERCEPTION_MODE: context.inbound,
        ...w.env,
      };
      proxies.push(await startPodProxy(network.inside(name), { ...w, env }, istiod, envoy));
    }),
  );
  return pods;
}

function podSettings(workload: PlacedWorkload): PodSettings {
  const { name, version = "", certificate } = workload;
  const { httpPorts = [servicePort], http2Ports = [], tcpPorts = [], tlsPorts = [] } = workload;
  return { name, version, httpPorts, http2Ports, tcpPorts, tlsPorts, ...(certificate && { certificate }) };
}

function captureTraffic(pod: string, { network, inbound, rules }: PodContext): Promise<void> {
  const capture = {
    ...proxyOwner(inbound),
    inboundMode: inbound,
    inboundPorts: "*",
    inboundPortsExclude: ownPorts,
    outboundRanges: "*",
    redirectDns: true,
    dnsServers: [network.gateway],
  };
  return network.capture(pod, capture, rules);
}

/**
 * Returns the user and group whose traffic is not redirected. Proxies run as root, because another user may not be able
 * to read this repository, and in a group of their own; applications have neither. A TPROXY proxy must be root anyway
 * and, as in Kubernetes, is identified by its group alone: rules for its user would redirect its connections to the
 * application back to it.
 */
function proxyOwner(inbound: "REDIRECT" | "TPROXY"): { readonly proxyUid: string; readonly proxyGid: string } {
  return { proxyUid: inbound === "TPROXY" ? String(proxyGroup) : "0", proxyGid: String(proxyGroup) };
}

/** Ports of the agent and of Envoy, which injection excludes from redirection. */
const ownPorts = "15090,15021,15020";

function resolvConf({ work }: IstiodPlaces): string {
  return join(work, "resolv.conf");
}

interface MeshParts extends Pick<RedirectedMesh, "close"> {
  readonly subnet: Subnet;
  readonly network: PodNetwork;
  readonly places: IstiodPlaces;
  readonly workloads: readonly PlacedWorkload[];
  readonly pods: ReadonlyMap<string, Pod>;
  readonly istiod: Istiod;
  readonly config: ConfigDirectory;
}

function runningMesh({ subnet, network, places, workloads, pods, istiod, config, close }: MeshParts): RedirectedMesh {
  const known = workloads.filter((w) => w.proxy !== "none");
  const pod = (name: string): Pod => {
    const found = pods.get(name);
    if (found === undefined) throw new Error(`no workload ${name} in this mesh`);
    return found;
  };
  return {
    gateway: network.gateway,
    directory: (name) => join(places.work, "agents", name),
    address: (name) => workloadNamed(workloads, name).address,
    service: (name) => subnet.service(known.indexOf(workloadNamed(known, name)) + 1),
    http: (from, url, { at = new URL(url).hostname, headers = {}, http2 = false } = {}) =>
      pod(from).order({ kind: http2 ? "http2" : "http", host: at, url, headers }),
    tcp: (from, host, port, text) => pod(from).order({ kind: "tcp", host, port, text }),
    tls: (from, host, port, text, server) => pod(from).order({ kind: "tls", host, port, text, ...server }),
    dns: (from, name, server) => pod(from).order({ kind: "dns", name, server }),
    apply: (file, objects) => config.apply(file, objects),
    stat: async (name, stat) => {
      const url = statUrl(stat);
      const { text = "" } = await pod(name).order({ kind: "http", host: "127.0.0.1", url, headers: {} });
      return statValue(text);
    },
    refusals: () => refusalsIn(istiod.lines),
    close,
  };
}

function expandAddresses(text: string, workloads: readonly PlacedWorkload[]): string {
  return text.replaceAll(/\{\{([\w-]+)\}\}/g, (_, name: string) => workloadNamed(workloads, name).address);
}
