import { envoyFilterObjects } from "./envoy-filters.js";
import {
  address,
  authorizationPolicyObject,
  destinationRuleObject,
  endpointSliceObject,
  gatewayName,
  gatewayObject,
  gatewayPorts,
  gatewayRouteObject,
  istioObject,
  type KubernetesObject,
  namespaceObject,
  nodeObject,
  type Pod,
  podObject,
  type Port,
  rootNamespace,
  serviceObject,
  virtualServiceObject,
} from "./objects.js";
import { type ProxyPlace, placeOf } from "./proxies.js";
import { Random } from "./random.js";

export interface MeshOptions {
  readonly services: number;
  readonly namespaces: number;
  /** Pods of each service, of versions v1 and v2 in turn. Default 3. */
  readonly endpoints?: number;
  /** Pods with a sidecar. Default 50. */
  readonly proxies?: number;
  /**
   * Number of sidecars in the first namespace, so that a change there touches as many proxies in meshes of different
   * sizes. Default: random.
   */
  readonly inFirst?: number;
  /**
   * Share of the namespaces, evenly spread, with a Sidecar that limits visibility to the namespace itself and the root
   * namespace. Default 0.
   */
  readonly scoped?: number;
  /** Number of following namespaces that such a Sidecar makes visible in addition. Default 0. */
  readonly neighbours?: number;
  /** Number of routes of two gateways; 0: no gateways. Default 50. */
  readonly gatewayRoutes?: number;
  /** Adds 20 EnvoyFilters of the usual kinds for all proxies. Default false. */
  readonly envoyFilters?: boolean;
  /** Equal seeds give equal objects, proxies and changes. */
  readonly seed: number;
}

/** The current state of a service with its pods and rules. */
export interface Service {
  readonly number: number;
  readonly name: string;
  readonly namespace: string;
  readonly ports: readonly Port[];
  /** Has a VirtualService and a DestinationRule. */
  readonly routed: boolean;
  readonly timeoutSeconds: number;
  readonly maxConnections: number;
  readonly age: number;
  pods: readonly Pod[];
  /** Names of pods that are not ready. */
  readonly out: Set<string>;
  exists: boolean;
  weight: number;
  errors: number;
  /** Counts edits of labels and annotations. */
  revision: number;
  podsMade: number;
}

const servicePorts = (number: number): readonly Port[] => [
  { name: "http", port: 80, target: 8080 },
  ...(number % 10 === 0
    ? [
        { name: "tcp-data", port: 9000, target: 9000 },
        { name: "grpc-api", port: 7070, target: 7070 },
      ]
    : []),
];

/** Reports whether the ith element is selected, such that the share of selected elements is evenly spread. */
const picked = (i: number, part: number): boolean => Math.floor(i * part) !== Math.floor((i + 1) * part);

/**
 * A synthetic mesh: services in namespaces, each with pods of two versions, a weighted VirtualService and a
 * DestinationRule with two subsets; every tenth has a TCP and a gRPC port as well; strict mTLS, an AuthorizationPolicy
 * for each namespace, nodes in three zones, and gateways.
 *
 * @throws RangeError for inconsistent sizes
 */
export class Mesh {
  readonly random: Random;
  readonly namespaces: readonly string[];
  readonly services: Service[];
  /** Number of edits of the policy of each namespace; absent if it has none. */
  readonly policies = new Map<string, number>();
  /** Namespaces with a PeerAuthentication of their own. */
  readonly permissive = new Set<string>();
  readonly routes: number[];
  /** Services added by changes, the latest last. */
  readonly added: Service[] = [];
  readonly nodes: number;
  readonly #options: MeshOptions;
  readonly #gateways: readonly Pod[];
  readonly #proxied: readonly Pod[];
  #pods = 0;
  #addedEver = 0;
  #version = 1000;

  constructor(options: MeshOptions) {
    const { services, namespaces, endpoints = 3, proxies = 50, gatewayRoutes = 50, seed } = options;
    if (services < 1 || namespaces < 1 || endpoints < 1)
      throw new RangeError("services, namespaces and endpoints must be at least 1");
    if (proxies > services * endpoints)
      throw new RangeError(`${proxies} proxies, but only ${services * endpoints} pods`);
    this.#options = options;
    this.random = new Random(seed);
    this.nodes = Math.max(3, Math.floor((services * endpoints) / 30));
    this.namespaces = Array.from({ length: namespaces }, (_, at) => `ns-${at}`);
    this.routes = Array.from({ length: gatewayRoutes }, () => 1);
    for (const namespace of this.namespaces) this.policies.set(namespace, 0);
    const withProxy = this.#drawProxied();
    this.#gateways =
      gatewayRoutes === 0
        ? []
        : [0, 1].map((i) => this.#pod(`${gatewayName}-${i}`, rootNamespace, gatewayName, "v1", gatewayPorts, false));
    this.services = Array.from({ length: services }, (_, number) => this.#service(number, withProxy));
    this.#proxied = this.random.shuffled(this.services.flatMap(({ pods }) => pods.filter(({ sidecar }) => sidecar)));
  }

  /** Returns all current objects of the mesh. */
  objects(): KubernetesObject[] {
    const { scoped = 0, envoyFilters = false } = this.#options;
    const at = (age: number): { age: number; resourceVersion: number } => ({ age, resourceVersion: 1000 });
    return [
      ...[rootNamespace, ...this.namespaces].map((name, i) => namespaceObject(name, at(i))),
      ...Array.from({ length: this.nodes }, (_, node) => nodeObject(node, at(node))),
      istioObject("PeerAuthentication", "default", rootNamespace, at(0), { mtls: { mode: "STRICT" } }),
      ...this.namespaces.flatMap((_, i) => (picked(i, scoped) ? [this.#sidecar(i)] : [])),
      ...(envoyFilters ? envoyFilterObjects(this.namespaces.length) : []),
      ...[...this.policies].map(([namespace, revision]) => authorizationPolicyObject(namespace, revision, at(0))),
      ...[...this.permissive].map((namespace) =>
        istioObject("PeerAuthentication", "default", namespace, at(0), { mtls: { mode: "PERMISSIVE" } }),
      ),
      ...(this.#gateways.length > 0
        ? [gatewayObject(at(0)), serviceObject(gatewayName, rootNamespace, address(10, 96, 0), gatewayPorts, at(0))]
        : []),
      ...(this.#gateways.length > 0
        ? [endpointSliceObject(gatewayName, rootNamespace, gatewayPorts, this.#gateways, at(0))]
        : []),
      ...this.#gateways.map((pod) => podObject(pod, 1000)),
      ...this.routes.map((_, route) => this.gatewayRoute(route)),
      ...[...this.services, ...this.added].flatMap((service) => this.objectsOf(service)),
    ];
  }

  /**
   * Returns the proxies: two gateways first, if there are any, then sidecars in an order that spreads them over the
   * mesh.
   */
  proxies(): readonly ProxyPlace[] {
    return [
      ...this.#gateways.map((pod) => placeOf(pod, "router")),
      ...this.#proxied.map((pod) => placeOf(pod, "sidecar")),
    ];
  }

  /** Returns all objects of a service. */
  objectsOf(service: Service): KubernetesObject[] {
    return [
      ...service.pods.map((pod) => podObject(pod, 1000)),
      this.endpointSlice(service),
      ...(service.exists ? [this.service(service)] : []),
      ...(service.routed ? [this.virtualService(service), this.destinationRule(service)] : []),
    ];
  }

  service({ name, namespace, number, ports, age }: Service): KubernetesObject {
    return serviceObject(name, namespace, address(10, 96, 10 + number), ports, this.#at(age));
  }

  endpointSlice({ name, namespace, ports, pods, out, age }: Service): KubernetesObject {
    return endpointSliceObject(
      name,
      namespace,
      ports,
      pods.filter((pod) => !out.has(pod.name)),
      this.#at(age),
    );
  }

  virtualService({ name, namespace, weight, timeoutSeconds, revision, age }: Service): KubernetesObject {
    const edited = { "example.com/revision": String(revision) };
    return virtualServiceObject(name, namespace, weight, timeoutSeconds, {
      ...this.#at(age),
      ...(revision > 0 && { labels: edited, annotations: edited }),
    });
  }

  destinationRule({ name, namespace, maxConnections, errors, age }: Service): KubernetesObject {
    return destinationRuleObject(name, namespace, maxConnections, errors, this.#at(age));
  }

  policy(namespace: string): KubernetesObject {
    return authorizationPolicyObject(namespace, this.policies.get(namespace) ?? 0, this.#at(0));
  }

  gatewayRoute(route: number): KubernetesObject {
    const { name, namespace } = this.serviceAt(route);
    return gatewayRouteObject(route, name, namespace, this.routes[route] ?? 1, this.#at(route));
  }

  /** Returns the service of an index, modulo their number. */
  serviceAt(number: number): Service {
    return this.services[number % this.services.length] as Service;
  }

  /** Creates a pod of a service, with an address that was never used before. */
  newPod(service: Service, version: string): Pod {
    const { name, namespace, ports } = service;
    return this.#pod(`${name}-${version}-${service.podsMade++}`, namespace, name, version, ports, false);
  }

  /** Creates a service with two pods and no rules, without adding it to the mesh. */
  newService(namespace: string): Service {
    const at = this.#addedEver++;
    const service: Service = {
      ...this.#blank(this.#options.services + at, `added-${at}`, namespace, servicePorts(1)),
      routed: false,
    };
    service.pods = ["v1", "v2"].map((version) => this.newPod(service, version));
    return service;
  }

  nextVersion(): number {
    return ++this.#version;
  }

  #at(age: number): { age: number; resourceVersion: number } {
    return { age, resourceVersion: this.#version };
  }

  #sidecar(number: number): KubernetesObject {
    const { neighbours = 0 } = this.#options;
    const seen = Array.from(
      { length: neighbours },
      (_, i) => `${this.namespaces[(number + 1 + i) % this.namespaces.length]}/*`,
    );
    return istioObject("Sidecar", "default", `ns-${number}`, this.#at(number), {
      egress: [{ hosts: ["./*", `${rootNamespace}/*`, ...seen] }],
    });
  }

  #drawProxied(): Set<number> {
    const { services, namespaces, endpoints = 3, proxies = 50, inFirst } = this.#options;
    const all = this.random.shuffled(Array.from({ length: services * endpoints }, (_, pod) => pod));
    if (inFirst === undefined) return new Set(all.slice(0, proxies));
    const isFirst = (pod: number): boolean => Math.floor(pod / endpoints) % namespaces === 0;
    const first = all.filter(isFirst).slice(0, inFirst);
    const others = all.filter((pod) => !isFirst(pod)).slice(0, proxies - inFirst);
    if (first.length + others.length < proxies)
      throw new RangeError(`${inFirst} of ${proxies} proxies in the first namespace: there are not so many pods`);
    return new Set([...first, ...others]);
  }

  #service(number: number, withProxy: ReadonlySet<number>): Service {
    const { namespaces, endpoints = 3 } = this.#options;
    const service = this.#blank(number, `svc-${number}`, `ns-${number % namespaces}`, servicePorts(number));
    service.pods = Array.from({ length: endpoints }, (_, i) => ({
      ...this.newPod(service, `v${1 + (i % 2)}`),
      sidecar: withProxy.has(number * endpoints + i),
    }));
    return service;
  }

  #blank(number: number, name: string, namespace: string, ports: readonly Port[]): Service {
    const [timeoutSeconds, maxConnections] = [3 + this.random.below(5), 100 + 10 * this.random.below(10)];
    return {
      number,
      name,
      namespace,
      ports,
      routed: true,
      timeoutSeconds,
      maxConnections,
      age: number,
      pods: [],
      out: new Set(),
      exists: true,
      weight: 90,
      errors: 5,
      revision: 0,
      podsMade: 0,
    };
  }

  #pod(name: string, namespace: string, app: string, version: string, ports: readonly Port[], sidecar: boolean): Pod {
    const n = this.#pods++;
    return {
      name,
      namespace,
      app,
      version,
      ip: address(10, 64, n),
      node: n % this.nodes,
      ports,
      sidecar,
      ready: true,
      age: n,
    };
  }
}
