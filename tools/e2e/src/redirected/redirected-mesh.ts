import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findEnvoy } from "@istiod/envoy-binary";
import { eventually } from "../eventually.js";
import { type Istiod, type IstiodPlaces, refusalsIn, startIstiodInside } from "../istiod.js";
import { kubernetesObjects } from "../kubernetes-objects.js";
import { marker, meshDefaults } from "../mesh.js";
import { acknowledged, readStatus } from "../proxy-status.js";
import { issueToken } from "../proxy.js";
import { claimSubnet } from "../subnet.js";
import { place, servicePort, type WorkloadOptions } from "../workload.js";
import { type Pod, proxyGroup, startPod, startPodProxy } from "./pod.js";
import type { PodAnswer } from "./pod-orders.js";
import { makePodNetwork, type PodNetwork } from "./pod-network.js";

/** A workload in a pod of its own. One with proxy `none` is not known to istiod. */
export interface RedirectedWorkload extends WorkloadOptions {
  /** Ports on which its application answers HTTP. Default: the service's. */
  readonly httpPorts?: readonly number[];
  /** Ports on which it gives back what it is sent. */
  readonly tcpPorts?: readonly number[];
}

export interface RedirectedMeshOptions {
  readonly workloads: readonly RedirectedWorkload[];
  /** How inbound connections are led. Default: REDIRECT. */
  readonly inbound?: "REDIRECT" | "TPROXY";
  /** Istio's objects, YAML. `{{name}}` is a workload's address. */
  readonly objects?: string;
  /** Environment variables of istiod. */
  readonly istiodEnv?: Readonly<Record<string, string>>;
}

/**
 * A mesh in which each workload has a network of its own and its traffic is led through its proxy, as in Kubernetes.
 */
export interface RedirectedMesh {
  /** This machine, as pods see it. */
  readonly gateway: string;
  /** The directory of a workload's agent. */
  directory(workload: string): string;
  address(workload: string): string;
  /** The cluster IP of a workload's service. */
  service(workload: string): string;
  /** Has a workload's application ask for a URL at an address, by default the URL's host. */
  http(
    from: string,
    url: string,
    options?: { readonly at?: string; readonly headers?: Readonly<Record<string, string>> },
  ): Promise<PodAnswer>;
  /** Has it send text, and give what comes back. */
  tcp(from: string, host: string, port: number, text: string): Promise<PodAnswer>;
  /** Has it ask a server for the addresses of a name. */
  dns(from: string, name: string, server: string): Promise<PodAnswer>;
  /** Writes objects, and waits until every proxy has acknowledged what followed. */
  apply(file: string, objects: string): Promise<void>;
  /** Reads a statistic of a workload's Envoy; 0 where it has none of that name. */
  stat(workload: string, stat: string): Promise<number>;
  refusals(): readonly string[];
  close(): Promise<void>;
}

/**
 * Whose traffic is left alone. Proxies are root here, since nobody else may read this repository everywhere, and of a
 * group of their own; applications are neither. A transparent proxy must be root anyway, and as in Kubernetes is known
 * by its group alone: the rules for its user would lead its calls of the application back to it.
 */
function proxyOwner(inbound: "REDIRECT" | "TPROXY"): { readonly proxyUid: string; readonly proxyGid: string } {
  return { proxyUid: inbound === "TPROXY" ? String(proxyGroup) : "0", proxyGid: String(proxyGroup) };
}

/** The agent's and Envoy's own ports, which injection leaves out. */
const ownPorts = "15090,15021,15020";

/**
 * Starts a mesh; resolves when all proxies are ready. @throws Error where that cannot be: ask `whyNoRedirection` first
 */
export async function startRedirectedMesh({
  workloads: options,
  inbound = "REDIRECT",
  objects = "",
  istiodEnv = {},
}: RedirectedMeshOptions): Promise<RedirectedMesh> {
  const envoy = await findEnvoy();
  if (!envoy) throw new Error("no Envoy: ask whyNoEnvoy() first");
  const subnet = await claimSubnet();
  const work = await mkdtemp(join(tmpdir(), "istiod-e2e-"));
  const workloads = options.map((o, n) => ({ ...o, ...place(o, subnet.pod(n + 1), subnet.pod(n + 1)) }));
  const known = workloads.filter((w) => w.proxy !== "none");
  const pods = new Map<string, Pod>();
  const proxies: (() => Promise<void>)[] = [];
  let network: PodNetwork | undefined;
  let istiod: Istiod | undefined;
  let writes = 0;

  const index = (name: string): number => workloads.findIndex((w) => w.name === name);
  const pod = (name: string): Pod => pods.get(name) ?? fail(`no workload ${name} in this mesh`);
  const address = (name: string): string => workloads[index(name)]?.address ?? fail(`no workload ${name} in this mesh`);
  const places: IstiodPlaces = {
    address: subnet.pod(254),
    debugAddress: subnet.address(253),
    config: join(work, "config"),
    work,
    env: istiodEnv,
  };
  const write = async (file: string, text: string): Promise<void> => {
    await writeFile(
      join(work, "being-written"),
      text.replaceAll(/\{\{([\w-]+)\}\}/g, (_, name: string) => address(name)),
    );
    await rename(join(work, "being-written"), join(places.config, `${file}.yaml`));
  };
  const close = async (): Promise<void> => {
    await Promise.allSettled(proxies.map((kill) => kill()));
    await Promise.allSettled([...pods.values()].map((p) => p.kill()));
    await istiod?.kill();
    await network?.close();
    subnet.release();
    await rm(work, { recursive: true, force: true });
  };

  try {
    network = await makePodNetwork(subnet);
    const { gateway, inside } = network;
    await mkdir(places.config, { recursive: true });
    await writeFile(join(work, "mesh.yaml"), meshDefaults);
    await writeFile(join(work, "resolv.conf"), `nameserver ${gateway}\n`);
    await write("workloads", kubernetesObjects(known, subnet, true));
    await write("objects", objects);
    await write("marker", marker(0));
    for (const w of known) await issueToken(places, w, randomBytes(32).toString("base64url"));
    istiod = await startIstiodInside(places);
    for (const [n, w] of workloads.entries()) await network.add(w.name, n + 1);
    await Promise.all(
      workloads.map(async (w) => {
        const { name, version = "", httpPorts = [servicePort], tcpPorts = [] } = w;
        pods.set(name, await startPod(inside(name), { name, version, httpPorts, tcpPorts }));
        if (w.proxy === "none") return;
        await network?.capture(name, {
          ...proxyOwner(inbound),
          inboundMode: inbound,
          inboundPorts: "*",
          inboundPortsExclude: ownPorts,
          outboundRanges: "*",
          redirectDns: true,
          dnsServers: [gateway],
        });
        const env = {
          ISTIO_META_DNS_CAPTURE: "true",
          DNS_RESOLV_CONF: join(work, "resolv.conf"),
          ISTIO_META_INTERCEPTION_MODE: inbound,
          ...w.env,
        };
        proxies.push(await startPodProxy(inside(name), { ...w, env }, places, envoy));
      }),
    );
    return {
      gateway,
      directory: (name) => join(work, "agents", name),
      address,
      service: (name) => subnet.service(known.findIndex((w) => w.name === name) + 1),
      http: (from, url, { at = new URL(url).hostname, headers = {} } = {}) =>
        pod(from).order({ kind: "http", host: at, url, headers }),
      tcp: (from, host, port, text) => pod(from).order({ kind: "tcp", host, port, text }),
      dns: async (from, name, server) => pod(from).order({ kind: "dns", name, server }),
      apply: async (file, text) => {
        await write(file, text);
        await write("marker", marker(++writes));
        const debug = places.debugAddress ?? places.address;
        await eventually("istiod has read what was written", async () =>
          (await (await fetch(`http://${debug}:8080/debug/registryz`)).text()).includes(`revision-${writes}.marker`),
        );
        let quiet = 0;
        await eventually("every proxy has acknowledged", async () => {
          quiet = acknowledged(await readStatus(debug)) ? quiet + 1 : 0;
          return quiet >= 5;
        });
      },
      stat: async (name, stat) => {
        const filter = encodeURIComponent(`^${stat.replaceAll(/[.|^$]/g, "\\$&")}$`);
        const { text = "" } = await pod(name).order({
          kind: "http",
          host: "127.0.0.1",
          url: `http://envoy:15000/stats?filter=${filter}`,
          headers: {},
        });
        return Number(/: (\d+)/.exec(text)?.[1] ?? 0);
      },
      refusals: () => refusalsIn(istiod?.lines ?? []),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function fail(message: string): never {
  throw new Error(message);
}
