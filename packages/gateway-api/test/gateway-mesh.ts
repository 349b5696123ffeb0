import { toJson } from "@bufbuild/protobuf";
import { issueServingCertificate, CertificateAuthority, createSelfSignedRoot, selfSignedBundle } from "@istiod/ca";
import { YamlMesh } from "@istiod/config-schema/testing";
import { gatewayApiGateways, type StatusCondition } from "@istiod/gateway-api";
import { GatewaySchema } from "@istiod/istio-api/networking/v1alpha3/gateway";
import type { Query } from "@istiod/incremental";

const root = await createSelfSignedRoot({ organization: "shop", key: { type: "ecdsa", curve: "P-256" } }, Date.now());
const authority = new CertificateAuthority({ bundle: selfSignedBundle(root, "test", Date.now()) });
const certificate = await issueServingCertificate(authority, ["shop.example"], 3_600_000, Date.now());

interface Metadata {
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Seconds after some time. Default 0. */
  readonly age?: number;
}

const groups: Readonly<Record<string, string>> = {
  Namespace: "v1",
  Secret: "v1",
  ConfigMap: "v1",
  Service: "v1",
  EndpointSlice: "discovery.k8s.io/v1",
  ServiceEntry: "networking.istio.io/v1",
  XBackend: "gateway.networking.x-k8s.io/v1alpha1",
  XBackendTrafficPolicy: "gateway.networking.x-k8s.io/v1alpha1",
  ReferenceGrant: "gateway.networking.k8s.io/v1beta1",
};

/** Returns an object, by default of namespace `edge`, with fields next to its metadata. */
export function object(kind: string, name: string, fields: object, metadata: Metadata = {}): string {
  const { age = 0, namespace = "edge", ...rest } = metadata;
  const isClusterScoped = kind === "GatewayClass" || kind === "Namespace";
  const creationTimestamp = new Date(Date.UTC(2024, 0, 1, 0, 0, age)).toISOString().replace(".000Z", "Z");
  return `---\n${JSON.stringify({
    apiVersion: groups[kind] ?? "gateway.networking.k8s.io/v1",
    kind,
    metadata: { name, creationTimestamp, ...(!isClusterScoped && { namespace }), ...rest },
    ...fields,
  })}\n`;
}

/** Returns a Gateway of class `istio` in namespace `edge`. */
export function gateway(listeners: readonly object[], spec: object = {}, metadata: Metadata = {}): string {
  return object("Gateway", "front", { spec: { gatewayClassName: "istio", listeners, ...spec } }, metadata);
}

export const http = { name: "http", port: 80, protocol: "HTTP" };

/** Returns a listener that terminates TLS with a certificate. */
export function https(certificateRef: object, fields: object = {}): object {
  return { name: "https", port: 443, protocol: "HTTPS", tls: { certificateRefs: [certificateRef] }, ...fields };
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Returns a Secret with a certificate, or with other entries. */
export function secret(name: string, namespace = "edge", entries?: Readonly<Record<string, string>>): string {
  const data = entries ?? { "tls.crt": certificate.cert, "tls.key": certificate.key, "ca.crt": certificate.cert };
  const encoded = Object.fromEntries(Object.entries(data).map(([entry, text]) => [entry, base64(text)]));
  return object("Secret", name, { data: encoded }, { namespace });
}

/** Returns a ConfigMap with root certificates. */
export function roots(name: string, namespace = "edge", text = certificate.cert): string {
  return object("ConfigMap", name, { data: { "ca.crt": text } }, { namespace });
}

/** Returns a grant in a namespace for references to its Secrets. */
export function grant(namespace: string, from: { readonly kind: string; readonly namespace: string }): string {
  const spec = {
    from: [{ group: "gateway.networking.k8s.io", ...from }],
    to: [
      { group: "", kind: "Secret" },
      { group: "", kind: "ConfigMap" },
    ],
  };
  return object("ReferenceGrant", "grant", { spec }, { namespace });
}

/** Returns a Service with ports that lead to one endpoint, if it has any. */
export function service(name: string, ports: readonly number[], more: object = {}, endpoints = 1): string {
  const own = ports.map((port) => ({ name: `p-${port}`, port }));
  return (
    object("Service", name, { spec: { clusterIP: "10.2.0.1", ports: own }, ...more }) +
    object(
      "EndpointSlice",
      name,
      {
        addressType: "IPv4",
        endpoints: endpoints === 0 ? [] : [{ addresses: ["10.1.0.1"], conditions: { ready: true } }],
        ports: own.map(({ name: port, port: number }) => ({ name: port, port: number + 8000, protocol: "TCP" })),
      },
      { labels: { "kubernetes.io/service-name": name } },
    )
  );
}

/** A mesh, and what is derived from its Gateways. */
export class GatewayMesh extends YamlMesh<undefined> {
  ask<A, R>(query: Query<A, R>, arg: A): R {
    return this.db.view(undefined).call(query, arg);
  }

  /** The derived Gateways' only servers by `namespace/name` without the part that all names have in common. */
  servers(): Readonly<Record<string, unknown>> {
    const derived = Object.entries(this.db.view(undefined).call(gatewayApiGateways));
    return Object.fromEntries(
      derived.map(([key, { spec }]) => {
        const { servers = [] } = toJson(GatewaySchema, spec) as { readonly servers?: readonly unknown[] };
        return [key.replace("~istio-autogenerated-k8s-gateway~", " "), servers.length === 1 ? servers[0] : servers];
      }),
    );
  }
}

/** Returns conditions as texts `Type=Status Reason`, without those that are as they should be. */
export function notable(conditions: readonly StatusCondition[]): readonly string[] {
  return conditions
    .filter(({ type, status, reason }) =>
      type === "Conflicted" ? status === "True" : status === "False" || reason === "ListenersNotValid",
    )
    .map(({ type, status, reason }) => `${type}=${status} ${reason}`);
}
