import type { ObjectInput } from "@istiod/kubernetes/testing";

/** A gateway that runs outside of the cluster: an Envoy of one control plane. */
export interface MeasuredGateway {
  /** Name of its Gateway, Service and Pod. */
  readonly name: string;
  /** Address of its Pod. */
  readonly address: string;
  /** Port that it listens on. */
  readonly port: number;
}

export const namespace = "edge";

/** Returns the objects of a gateway that nobody deploys: its Gateway names the Service of a Pod. */
export function gatewayObjects({ name, address, port }: MeasuredGateway): readonly ObjectInput[] {
  const ports = [{ name: "http", port, protocol: "TCP" }];
  const labels = { app: name };
  return [
    core("Service", name, { spec: { selector: labels, ports } }),
    core("Pod", name, {
      metadata: { name, namespace, labels },
      spec: { containers: [{ name: "istio-proxy", image: "proxyv2" }] },
      status: {
        phase: "Running",
        podIP: address,
        podIPs: [{ ip: address }],
        conditions: [{ type: "Ready", status: "True" }],
      },
    }),
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name, namespace, labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      endpoints: [
        {
          addresses: [address],
          conditions: { ready: true },
          targetRef: { kind: "Pod", name, namespace },
        },
      ],
      ports,
    },
    gatewayApi("Gateway", {
      metadata: { name, namespace },
      spec: {
        gatewayClassName: "istio",
        addresses: [{ type: "Hostname", value: `${name}.${namespace}.svc.cluster.local` }],
        listeners: [{ name: "http", port, protocol: "HTTP" }],
      },
    }),
  ];
}

/** Returns a route of all gateways whose redirect tells a version. */
export function routeOfVersion(gateways: readonly MeasuredGateway[], version: number): ObjectInput {
  return gatewayApi("HTTPRoute", {
    metadata: { name: "measured", namespace },
    spec: {
      parentRefs: gateways.map(({ name }) => ({ name })),
      rules: [{ filters: [{ type: "RequestRedirect", requestRedirect: { hostname: `v${version}.example` } }] }],
    },
  });
}

/** Returns gateways of which only proxies are simulated. */
export function otherGateways(count: number): readonly MeasuredGateway[] {
  return Array.from({ length: count }, (_, i) => ({
    name: `other-gateway-${i}`,
    address: `10.${10 + (i >> 8)}.0.${i & 255}`,
    port: 18_082,
  }));
}

/** Returns routes of hosts of their own, in turns at the gateways of each group. */
export function otherRoutes(groups: readonly (readonly MeasuredGateway[])[], count: number): readonly ObjectInput[] {
  return Array.from({ length: count }, (_, i) => {
    const route = routeOfVersion(groups[i % groups.length] ?? [], 0);
    return {
      ...route,
      metadata: { name: `other-${i}`, namespace },
      spec: { ...(route["spec"] as object), hostnames: [`other-${i}.example`] },
    };
  });
}

/** Returns the node of a gateway's proxy, as JSON of `envoy.config.core.v3.Node`. */
export function nodeOfGateway({ name, address }: MeasuredGateway) {
  return {
    id: `router~${address}~${name}.${namespace}~${namespace}.svc.cluster.local`,
    cluster: `${name}.${namespace}`,
    metadata: { NAMESPACE: namespace, LABELS: { app: name }, CLUSTER_ID: "Kubernetes", ISTIO_VERSION: "1.30.0" },
  };
}

/** The GatewayClass that both control planes serve. */
export const gatewayClass: ObjectInput = gatewayApi("GatewayClass", {
  metadata: { name: "istio" },
  spec: { controllerName: "istio.io/gateway-controller" },
});

function core(kind: string, name: string, rest: object): ObjectInput {
  return { apiVersion: "v1", kind, metadata: { name, namespace }, ...rest };
}

function gatewayApi(kind: string, rest: Pick<ObjectInput, "metadata"> & { readonly spec: object }): ObjectInput {
  return { apiVersion: "gateway.networking.k8s.io/v1", kind, ...rest };
}
