import {
  applyMeshConfig,
  decode,
  environment,
  meshConfig,
  meshConfigKey,
  setObjects,
  type LocatedObject,
} from "@istiod/config-schema";
import { proxyResources } from "@istiod/explain";
import { Database } from "@istiod/incremental";
import { type Proxy, proxyFromNode } from "@istiod/push-context";
import {
  clusterType,
  endpointType,
  extensionConfigType,
  listenerType,
  type Resource,
  routeType,
} from "@istiod/resources";
import { generators } from "@istiod/xds-generators";
import { listenerWithFilter } from "./discovered-filters.js";
import type { Manifest } from "./kinds/manifest.js";

export const offeredTypes = [clusterType, endpointType, listenerType, routeType] as const;

const metadata = (name: string, labels = {}): Manifest["metadata"] => ({ name, namespace: "shop", labels });

/** An honest mesh: a service with a workload, and the pod of an ingress gateway. */
export const honestMesh: readonly object[] = [
  ...["shop", "other", "istio-system"].map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: metadata("cart"),
    spec: {
      clusterIP: "10.96.0.1",
      selector: { app: "cart" },
      ports: [
        { name: "http", port: 80, targetPort: 8080 },
        { name: "tcp", port: 9000 },
        { name: "tls", port: 443 },
      ],
    },
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: metadata("cart-1", { app: "cart", "security.istio.io/tlsMode": "istio" }),
    spec: { serviceAccountName: "cart", containers: [{ name: "app" }] },
    status: { phase: "Running", podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] },
  },
  {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: metadata("cart-1", { "kubernetes.io/service-name": "cart" }),
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.0.0.1"], targetRef: { kind: "Pod", namespace: "shop", name: "cart-1" } }],
    ports: [
      { name: "http", port: 8080 },
      { name: "tcp", port: 9000 },
      { name: "tls", port: 443 },
    ],
  },
  {
    apiVersion: "networking.istio.io/v1",
    kind: "Gateway",
    metadata: metadata("gw"),
    spec: {
      selector: { istio: "ingress" },
      servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*/*"] }],
    },
  },
];

/** The mesh serves Ingresses of class `istio` with the tested gateway. */
const ingressClass = {
  apiVersion: "networking.k8s.io/v1",
  kind: "IngressClass",
  metadata: { name: "istio" },
  spec: { controller: "istio.io/ingress-controller" },
};

const extensionProviders = [
  { name: "prometheus", prometheus: {} },
  { name: "envoy", envoyFileAccessLog: { path: "/dev/null" } },
  { name: "format", envoyFileAccessLog: { path: "/dev/null", logFormat: { text: "%REQ(A)% %PROTOCOL%\n" } } },
  { name: "json", envoyFileAccessLog: { path: "/dev/null", logFormat: { labels: { a: "%REQ(A)%" } } } },
  { name: "als", envoyHttpAls: { service: "cart.shop.svc.cluster.local", port: 80 } },
  { name: "zipkin", zipkin: { service: "cart.shop.svc.cluster.local", port: 80 } },
  { name: "otel", opentelemetry: { service: "cart.shop.svc.cluster.local", port: 80 } },
];

/** The SDS server of credentials `sds://name`, which a mesh has if one of its objects names a provider. */
const sdsProvider = { name: "provider", sds: { name: "sds", service: "cart.shop.svc.cluster.local", port: 80 } };

/** The mesh with additional objects. What validation rejects is left out. */
export interface HostileMesh {
  readonly database: Database<Proxy>;
  readonly accepted: readonly Manifest[];
}

export interface HostileMeshOptions {
  readonly acceptInvalid?: boolean;
  /** Further fields of the mesh configuration, in its JSON form. */
  readonly mesh?: object;
  /** Objects that are always there. Default: those of one honest service with a gateway. */
  readonly honest?: readonly object[];
}

/** Returns the mesh with objects. */
export function hostileMesh(objects: readonly Manifest[], options: HostileMeshOptions = {}): HostileMesh {
  const mesh = new ChangingMesh(options.honest);
  return { accepted: mesh.replace(objects, options), database: mesh.database };
}

/**
 * The mesh with other additional objects again and again, which generates only what they change. All kinds of the
 * Gateway API are enabled.
 */
export class ChangingMesh {
  readonly database = new Database<Proxy>();
  readonly #honest: readonly LocatedObject[];
  #added: readonly LocatedObject[] = [];

  /** @param honest objects that are always there. Default: those of one honest service with a gateway */
  constructor(honest: readonly object[] = honestMesh) {
    this.database.commit((tx) => {
      tx.set(environment, "PILOT_ENABLE_ALPHA_GATEWAY_API", "true");
      tx.set(environment, "ENABLE_GATEWAY_API_INFERENCE_EXTENSION", "true");
    });
    this.#honest = locate([...honest, ingressClass]).located;
  }

  /** Replaces the additional objects. Returns the accepted ones. */
  replace(
    objects: readonly Manifest[],
    { acceptInvalid = false, mesh = {} }: Omit<HostileMeshOptions, "honest"> = {},
  ): readonly Manifest[] {
    const { located, accepted } = locate(objects, acceptInvalid);
    const hasProvider = JSON.stringify(accepted).includes("@provider");
    const providers = hasProvider ? [...extensionProviders, sdsProvider] : extensionProviders;
    const report = { warning: () => undefined, error: () => undefined };
    const base = applyMeshConfig({ extensionProviders: providers, ingressSelector: "ingress" }, report);
    const config = applyMeshConfig(mesh, report, base);
    if (config === undefined) throw new Error("the mesh configuration is rejected");
    this.database.commit((tx) => {
      tx.set(meshConfig, meshConfigKey, config);
      for (const { kind, key } of this.#added) tx.delete(kind.collection, key);
      setObjects(tx, [...this.#honest, ...located]);
    });
    this.#added = located;
    return accepted;
  }
}

/** Decodes manifests. Returns the objects, and the manifests that validation accepts. */
function locate<T extends object>(manifests: readonly T[], acceptInvalid = false) {
  const located: LocatedObject[] = [];
  const accepted: T[] = [];
  for (const manifest of manifests)
    for (const decoded of decode(manifest, { acceptInvalid })) {
      if (decoded.outcome !== "accepted") continue;
      located.push({ kind: decoded.kind, key: decoded.key, object: decoded.object } as LocatedObject);
      accepted.push(manifest);
    }
  return { located, accepted };
}

/** Reports whether validation accepts an object. */
export function isAccepted(manifest: Manifest): boolean {
  return decode(manifest).every(({ outcome }) => outcome === "accepted");
}

/** A sidecar and a gateway of the mesh, whose Envoy has the given extensions. */
export function proxiesOf(extensions: readonly string[]): readonly Proxy[] {
  const domain = "svc.cluster.local";
  return [
    proxyFromNode({
      id: `sidecar~10.0.0.1~cart-1.shop~shop.${domain}`,
      metadata: { NAMESPACE: "shop", LABELS: { app: "cart" }, CLUSTER_ID: "Kubernetes" },
      extensions: [...extensions],
    }),
    proxyFromNode({
      id: `router~10.0.0.9~gw-1.istio-system~istio-system.${domain}`,
      metadata: { NAMESPACE: "istio-system", LABELS: { istio: "ingress" }, CLUSTER_ID: "Kubernetes" },
      extensions: [...extensions],
    }),
  ];
}

/** Returns the resources of a proxy by type. */
export function resourcesFor(database: Database<Proxy>, proxy: Proxy): ReadonlyMap<string, readonly Resource[]> {
  const all = proxyResources(database, proxy);
  const discovered = extensionsFor(database, proxy);
  return new Map(
    offeredTypes.map((type) => [type, [...(all.get(type) ?? []), ...(type === listenerType ? discovered : [])]]),
  );
}

/** Returns a listener for each filter that a proxy discovers. */
function extensionsFor(database: Database<Proxy>, proxy: Proxy): readonly Resource[] {
  const view = database.view(proxy);
  try {
    return [...view.call(generators[extensionConfigType]!)].map(listenerWithFilter);
  } finally {
    view.release();
  }
}
