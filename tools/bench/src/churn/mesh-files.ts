import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Random } from "./random.js";

interface Pod {
  readonly ip: string;
  readonly version: "v1" | "v2";
  readonly ready: boolean;
}

/** A service of the mesh, as its files describe it at present. */
interface Service {
  readonly name: string;
  readonly namespace: string;
  readonly number: number;
  pods: readonly Pod[];
  exists: boolean;
  weight: number;
  balancer: "ROUND_ROBIN" | "RANDOM";
}

export interface MeshSize {
  readonly services: number;
  readonly namespaces: number;
}

/** What kinds of changes there are, and how often of a hundred. */
const kinds = [
  ["pods", 60],
  ["weight", 20],
  ["policy", 10],
  ["destination rule", 5],
  ["service", 5],
] as const;
export type ChangeKind = (typeof kinds)[number][0];

/**
 * A mesh in a directory of YAML: services with two versions behind a weighted route, in namespaces of which every second has a Sidecar that
 * keeps others out; and its changes, one file each.
 */
export class MeshFiles {
  readonly #directory: string;
  readonly #random: Random;
  readonly #services: Service[];
  readonly #size: MeshSize;
  readonly #policies = new Set<string>();
  #addresses = 0;

  constructor(directory: string, size: MeshSize, random: Random) {
    this.#directory = directory;
    this.#random = random;
    this.#size = size;
    this.#services = Array.from({ length: size.services }, (_, number) => ({
      name: `svc-${number}`,
      namespace: `ns-${number % size.namespaces}`,
      number,
      pods: [this.#pod("v1"), this.#pod("v2")],
      exists: true,
      weight: 90,
      balancer: "ROUND_ROBIN",
    }));
  }

  async writeAll(): Promise<void> {
    for (let at = 0; at < this.#size.namespaces; at++) {
      await mkdir(join(this.#directory, `ns-${at}`), { recursive: true });
      if (at % 2 === 0) await this.#write(`ns-${at}/sidecar`, [istio("Sidecar", "default", `ns-${at}`, { egress: [{ hosts: ["./*", `ns-${(at + 1) % this.#size.namespaces}/*`] }] })]);
    }
    for (const service of this.#services) for (const kind of ["service", "pods", "weight", "destination rule"] as const) await this.#writeOf(service, kind);
  }

  /** Where the proxy of a service's first pod lives. The pods change, but the proxy keeps the address that it began with. */
  place(number: number): { readonly name: string; readonly namespace: string; readonly ip: string } {
    const service = this.#at(number % this.#size.services);
    return { name: service.name, namespace: service.namespace, ip: `10.${200 + Math.floor(number / 60_000)}.${Math.floor(number / 250) % 240}.${(number % 250) + 1}` };
  }

  /** Changes something, and says what. */
  async change(): Promise<ChangeKind> {
    const service = this.#random.pick(this.#services);
    let at = this.#random.below(100);
    const kind = kinds.find(([, share]) => (at -= share) < 0)?.[0] ?? "pods";
    if (kind === "pods") service.pods = this.#changedPods(service.pods);
    if (kind === "weight") service.weight = (service.weight + 1 + this.#random.below(99)) % 101;
    if (kind === "destination rule") service.balancer = service.balancer === "RANDOM" ? "ROUND_ROBIN" : "RANDOM";
    if (kind === "service") service.exists = !service.exists;
    if (kind === "policy") await this.#changePolicy(service.namespace);
    else await this.#writeOf(service, kind);
    return kind;
  }

  #at(number: number): Service {
    const found = this.#services[number];
    if (found === undefined) throw new RangeError(`there is no service ${number}`);
    return found;
  }

  #pod(version: Pod["version"]): Pod {
    const at = this.#addresses++ % 15_000_000;
    return { ip: `${11 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}.7`, version, ready: true };
  }

  #changedPods(pods: readonly Pod[]): readonly Pod[] {
    const what = pods.length < 2 ? 0 : this.#random.below(3);
    if (what === 0 || (what === 1 && pods.length < 3)) return [...pods, this.#pod(this.#random.chance(0.5) ? "v1" : "v2")];
    const at = this.#random.below(pods.length);
    if (what === 1 || pods.length > 6) return pods.filter((_, i) => i !== at);
    return pods.map((pod, i) => (i === at ? { ...pod, ready: !pod.ready } : pod));
  }

  async #changePolicy(namespace: string): Promise<void> {
    const strict = this.#random.chance(0.5);
    const name = strict ? "PeerAuthentication" : "AuthorizationPolicy";
    const key = `${namespace}/${name.toLowerCase()}`;
    const spec = strict ? { mtls: { mode: "STRICT" } } : { action: "DENY", rules: [{ to: [{ operation: { paths: ["/admin"] } }] }] };
    if (this.#policies.delete(key)) await rm(join(this.#directory, `${key}.yaml`));
    else {
      this.#policies.add(key);
      await this.#write(key, [istio(name, "default", namespace, spec)]);
    }
  }

  async #writeOf(service: Service, kind: Exclude<ChangeKind, "policy">): Promise<void> {
    const { name, namespace, number, pods, exists, weight, balancer } = service;
    const labels = { app: name };
    const documents = {
      service: exists ? [object("v1", "Service", name, namespace, { spec: { clusterIP: `10.96.${number >> 8}.${number & 255}`, selector: labels, ports: [{ name: "http", port: 80, targetPort: 8080 }] } })] : [],
      pods: podObjects(service, pods),
      weight: [
        istio("VirtualService", name, namespace, {
          hosts: [name],
          http: [{ route: [{ destination: { host: name, subset: "v1" }, weight }, { destination: { host: name, subset: "v2" }, weight: 100 - weight }] }],
        }),
      ],
      "destination rule": [
        istio("DestinationRule", name, namespace, { host: name, trafficPolicy: { loadBalancer: { simple: balancer } }, subsets: ["v1", "v2"].map((version) => ({ name: version, labels: { version } })) }),
      ],
    }[kind];
    await this.#write(`${namespace}/${name}-${kind.replace(" ", "-")}`, documents);
  }

  async #write(file: string, documents: readonly object[]): Promise<void> {
    const path = join(this.#directory, `${file}.yaml`);
    if (documents.length === 0) return rm(path, { force: true });
    await writeFile(`${path}.tmp`, documents.map((each) => JSON.stringify(each)).join("\n---\n"));
    await rename(`${path}.tmp`, path);
  }
}

function podObjects({ name, namespace }: Service, pods: readonly Pod[]): object[] {
  const podName = ({ ip }: Pod): string => `${name}-${ip.replaceAll(".", "-")}`;
  const endpoints = pods.map((pod) => ({
    addresses: [pod.ip],
    conditions: { ready: pod.ready, serving: pod.ready, terminating: false },
    targetRef: { kind: "Pod", name: podName(pod), namespace },
  }));
  return [
    ...pods.map((pod) => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: podName(pod), namespace, labels: { app: name, version: pod.version, "security.istio.io/tlsMode": "istio" } },
      spec: { serviceAccountName: name, containers: [{ name: "app" }] },
      status: { phase: "Running", podIP: pod.ip, podIPs: [{ ip: pod.ip }], conditions: [{ type: "Ready", status: "True" }] },
    })),
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name, namespace, labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080 }],
      endpoints,
    },
  ];
}

function object(apiVersion: string, kind: string, name: string, namespace: string, more: object): object {
  return { apiVersion, kind, metadata: { name, namespace }, ...more };
}

function istio(kind: string, name: string, namespace: string, spec: object): object {
  return object(`${/Authentication|Authorization/.test(kind) ? "security" : "networking"}.istio.io/v1`, kind, name, namespace, { spec });
}
