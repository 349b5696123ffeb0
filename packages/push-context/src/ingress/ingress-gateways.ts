import { create } from "@bufbuild/protobuf";
import { type GatewayObject, type IngressObject, ingresses } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import {
  GatewaySchema,
  type Server,
  ServerSchema,
  ServerTLSSettings_TLSmode as TlsMode,
} from "@istiod/istio-api/networking/v1alpha3/gateway";
import { features } from "../mesh/features.js";
import { mesh } from "../mesh/mesh-config.js";
import { ingressTlsHosts } from "./ingress-tls-hosts.js";
import { digestOf, ingressSuffix, isServedIngress, servedIngresses } from "./served-ingresses.js";

/**
 * Gateways generated from Ingresses, by `namespace/name`: each listens on port 80 for all hosts and on 443 for hosts
 * with a certificate. They are in the ingress controller's namespace and have creation time 0. Source:
 * pilot/pkg/config/kube/ingress/gateways.go.
 */
export const ingressGateways = query("ingressGateways", (q): Readonly<Record<string, GatewayObject>> =>
  Object.fromEntries(
    q.call(servedIngresses).flatMap((key) => {
      const gateway = q.call(ingressGateway, key);
      return gateway === undefined ? [] : [[`${gateway.namespace}/${gateway.name}`, gateway]];
    }),
  ),
);

/** The Ingress (`namespace/name`) that a Gateway (`namespace/name`) is generated from; undefined for others. */
export const ingressOfGateway = query("ingressOfGateway", (q, gateway: string): string | undefined => {
  return q.call(servedIngresses).find((key) => {
    const [namespace = "", name = ""] = key.split("/");
    return gateway === `${features.ingressNamespace(q)}/${ingressGatewayName({ namespace, name })}`;
  });
});

/**
 * Returns the name of the Gateway generated from an Ingress: Istio's, with a digest if the name of the Ingress or its
 * namespace contains the part between them, so that the names of two Ingresses could be the same.
 */
export function ingressGatewayName({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  const ordinary = `${name}-${ingressSuffix}-${namespace}`;
  const isDistinct = !name.includes(ingressSuffix) && !namespace.includes(ingressSuffix);
  return isDistinct ? ordinary : `${ordinary}-${digestOf(name, namespace)}`;
}

/** The gateway that serves an Ingress: the labels of its proxies, and the certificates that it serves. */
export interface IngressGateway {
  readonly selector: Readonly<Record<string, string>>;
  readonly certificates: readonly {
    /** Index in `spec.tls`. */
    readonly entry: number;
    readonly hosts: readonly string[];
    readonly secretName: string;
  }[];
}

/** Returns the gateway that serves an Ingress (`namespace/name`); undefined if the Ingress is not served. */
export function ingressGatewayOf(q: QueryContext, key: string): IngressGateway | undefined {
  if (!q.call(isServedIngress, key)) return undefined;
  const { tls = [] } = q.read(ingresses, key)?.spec ?? {};
  const hostsOf = tls.length === 0 ? [] : (q.call(ingressTlsHosts).byIngress[key] ?? []);
  const certificates = tls.flatMap(({ secretName }, entry) => {
    const hosts = hostsOf[entry] ?? [];
    return hosts.length === 0 ? [] : [{ entry, hosts, secretName }];
  });
  return { selector: { istio: gatewaySelector(q) }, certificates };
}

const ingressGateway = query("ingressGateway", (q, key: string): GatewayObject | undefined => {
  const ingress = q.read(ingresses, key);
  return (
    ingress && {
      kind: "Gateway",
      namespace: features.ingressNamespace(q),
      name: ingressGatewayName(ingress),
      labels: {},
      annotations: {},
      creationTimestamp: 0,
      cluster: ingress.cluster,
      spec: create(GatewaySchema, {
        selector: { istio: gatewaySelector(q) },
        servers: [...httpsServers(q, ingress), httpServer(ingress)],
      }),
    }
  );
});

function httpsServers(q: QueryContext, { namespace, name, spec }: IngressObject): readonly Server[] {
  const hostsOf = q.call(ingressTlsHosts).byIngress[`${namespace}/${name}`] ?? [];
  return spec.tls.flatMap(({ secretName }, i) => {
    const hosts = hostsOf[i] ?? [];
    return hosts.length === 0
      ? []
      : create(ServerSchema, {
          port: { number: 443, protocol: "HTTPS", name: `https-443-ingress-${name}-${namespace}-${i}` },
          hosts: [...hosts],
          tls: { mode: TlsMode.SIMPLE, credentialName: secretName },
        });
  });
}

function httpServer({ namespace, name }: IngressObject): Server {
  return create(ServerSchema, {
    port: { number: 80, protocol: "HTTP", name: `http-80-ingress-${name}-${namespace}` },
    hosts: ["*"],
  });
}

/**
 * Returns the label `istio` of the gateways that serve Ingresses: MeshConfig's ingressSelector, else its
 * ingressService.
 */
function gatewaySelector(q: QueryContext): string {
  const { ingressSelector, ingressService } = mesh(q);
  if (ingressSelector !== "") return ingressSelector;
  return ingressService === "" || ingressService === "istio-ingressgateway" ? "ingressgateway" : ingressService;
}
