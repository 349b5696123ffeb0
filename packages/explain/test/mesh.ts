import type { JsonValue } from "@bufbuild/protobuf";
import { YamlMesh } from "@istiod/config-schema/testing";
import type { Database } from "@istiod/incremental";
import { type Proxy, proxyFromNode } from "@istiod/push-context";
import { explain, type ResourceExplanation, resourceType } from "../src/index.js";

/** Returns a database with the objects of a YAML text. */
export function meshOf(yaml: string, config: JsonValue = {}): Database<Proxy> {
  return new YamlMesh<Proxy>(yaml, config).db;
}

export function proxy(
  type: "sidecar" | "router" = "sidecar",
  namespace = "shop",
  labels: Readonly<Record<string, string>> = {},
): Proxy {
  const id = `${type}~10.1.0.1~web.${namespace}~${namespace}.svc.cluster.local`;
  return proxyFromNode({ id, metadata: { NAMESPACE: namespace, LABELS: { ...labels }, CLUSTER_ID: "Kubernetes" } });
}

/** Explains one resource. */
export function why(
  database: Database<Proxy>,
  client: Proxy,
  type: string,
  name: string,
  tries = 0,
): ResourceExplanation {
  const found = resourceType(type);
  const [explanation] = explain(database, database.view(client), { ...(found && { types: [found] }), name, tries });
  if (explanation === undefined) throw new Error(`no ${type} ${name}`);
  return explanation;
}

/** Returns an object as a YAML document. `created` is a day in January 2024. */
export function object(
  kind: string,
  name: string,
  spec: JsonValue,
  { namespace = "shop", created = 1, labels = {} }: { namespace?: string; created?: number; labels?: object } = {},
): string {
  const apiVersion =
    kind === "Service" || kind === "Pod"
      ? "v1"
      : kind === "PeerAuthentication" || kind === "AuthorizationPolicy"
        ? "security.istio.io/v1"
        : "networking.istio.io/v1";
  const creationTimestamp = `2024-01-${String(created).padStart(2, "0")}T00:00:00Z`;
  return `---\n${JSON.stringify({ apiVersion, kind, metadata: { name, namespace, labels, creationTimestamp }, spec })}\n`;
}

export function service(name: string, namespace = "shop"): string {
  return object(
    "Service",
    name,
    { clusterIP: "10.96.0.1", selector: { app: name }, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
    { namespace },
  );
}

export const cart = "cart.shop.svc.cluster.local";

export function route(
  name: string,
  host: string,
  spec: { readonly [field: string]: JsonValue } = {},
  options: Parameters<typeof object>[3] = {},
): string {
  return object(
    "VirtualService",
    name,
    { hosts: [host], http: [{ route: [{ destination: { host } }] }], ...spec },
    options,
  );
}
