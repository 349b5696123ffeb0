import type { Json } from "../mesh.js";

/** A pod with a proxy in a zone, and its endpoint of port `http` of a service. */
export function workloadYaml(
  service: string,
  ip: string,
  options: {
    zone?: string;
    node?: string;
    network?: string;
    labels?: object;
    injected?: boolean;
    conditions?: object;
    name?: string;
    spec?: object;
  } = {},
): string {
  const {
    zone = "",
    node = "",
    network,
    labels = {},
    injected = true,
    conditions = { ready: true, serving: true, terminating: false },
    spec = {},
  } = options;
  const name = options.name ?? `${service}-${ip.replaceAll(/[.:]/g, "-")}`;
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "shop",
      labels: {
        app: service,
        ...(injected && { "security.istio.io/tlsMode": "istio" }),
        ...(zone && { "topology.istio.io/locality": zone }),
        ...(network !== undefined && { "topology.istio.io/network": network }),
        ...labels,
      },
    },
    spec: { serviceAccountName: service, nodeName: node, containers: [{ name: "app" }], ...spec },
    status: { phase: "Running", podIP: ip, podIPs: [{ ip }], conditions: [{ type: "Ready", status: "True" }] },
  };
  const slice = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace: "shop", labels: { "kubernetes.io/service-name": service } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    endpoints: [{ addresses: [ip], conditions, targetRef: { kind: "Pod", namespace: "shop", name } }],
  };
  return `---\n${JSON.stringify(pod)}\n---\n${JSON.stringify(slice)}\n`;
}

/** A load assignment in short form: zone, priority and weight of each group, and its addresses with their weights. */
export function summary(assignment: Json): readonly string[] {
  return (assignment.endpoints ?? []).map((group: Json) => {
    const { region = "", zone = "" } = group.locality ?? {};
    const members = (group.lbEndpoints ?? []).map((lb: Json) => {
      const { address, portValue } = lb.endpoint.address.socketAddress ?? {};
      return `${address}:${portValue}*${lb.loadBalancingWeight}`;
    });
    return `${region}/${zone} p${group.priority ?? 0} w${group.loadBalancingWeight ?? "-"}: ${members.join(" ")}`;
  });
}

export const endpointType = "envoy.config.endpoint.v3.ClusterLoadAssignment";

/** The cluster of the Service `cart`, or of one of its subsets. */
export function cartCluster(subset = ""): string {
  return `outbound|80|${subset}|cart.shop.svc.cluster.local`;
}
