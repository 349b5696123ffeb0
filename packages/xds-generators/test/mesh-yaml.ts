/** A Kubernetes Service. Ports are `name:port[:targetPort]`; the address `None` makes it headless. */
export function serviceYaml(
  name: string,
  options: {
    namespace?: string;
    ports?: readonly string[];
    ip?: string;
    labels?: object;
    annotations?: object;
    spec?: object;
  } = {},
): string {
  const {
    namespace = "shop",
    ports = ["http:80:8080"],
    ip = "10.96.0.1",
    labels = {},
    annotations = {},
    spec = {},
  } = options;
  return document(
    "v1",
    "Service",
    name,
    namespace,
    { labels, annotations },
    {
      clusterIP: ip,
      selector: { app: name },
      ports: ports.map((port) => {
        const [portName = "", number = "0", target = number] = port.split(":");
        return {
          name: portName,
          port: Number(number),
          targetPort: Number(target),
          protocol: portName.startsWith("udp") ? "UDP" : "TCP",
        };
      }),
      ...spec,
    },
  );
}

/** A pod and its endpoint for all ports of a service; `injected`: it has a proxy. */
export function podYaml(
  service: string,
  ip: string,
  options: {
    namespace?: string;
    injected?: boolean;
    account?: string;
    ports?: Readonly<Record<string, number>>;
    labels?: object;
  } = {},
): string {
  const { namespace = "shop", injected = true, account = service, ports = { http: 8080 }, labels = {} } = options;
  const name = `${service}-${ip.replaceAll(/[.:]/g, "-")}`;
  const podLabels = { app: service, ...(injected && { "security.istio.io/tlsMode": "istio" }), ...labels };
  const pod = {
    ...head("v1", "Pod", name, namespace, { labels: podLabels }),
    spec: { serviceAccountName: account, containers: [{ name: "app" }] },
    status: { phase: "Running", podIP: ip, podIPs: [{ ip }], conditions: [{ type: "Ready", status: "True" }] },
  };
  const slice = {
    ...head("discovery.k8s.io/v1", "EndpointSlice", name, namespace, {
      labels: { "kubernetes.io/service-name": service },
    }),
    addressType: ip.includes(":") ? "IPv6" : "IPv4",
    ports: Object.entries(ports).map(([portName, port]) => ({ name: portName, port, protocol: "TCP" })),
    endpoints: [
      {
        addresses: [ip],
        conditions: { ready: true, serving: true, terminating: false },
        targetRef: { kind: "Pod", namespace, name },
      },
    ],
  };
  return `---\n${JSON.stringify(pod)}\n---\n${JSON.stringify(slice)}\n`;
}

/** An object of Istio's networking API. */
export function istioYaml(kind: string, name: string, spec: object, namespace = "shop"): string {
  return document("networking.istio.io/v1", kind, name, namespace, {}, spec);
}

export function destinationRule(host: string, spec: object, namespace = "shop"): string {
  return istioYaml(
    "DestinationRule",
    host.replaceAll(/[*.]/g, "-").replaceAll(/^-+$/g, "any").replaceAll(/^-+/g, "any-"),
    { host, ...spec },
    namespace,
  );
}

export function serviceEntry(name: string, spec: object, namespace = "shop"): string {
  return istioYaml("ServiceEntry", name, spec, namespace);
}

export function peerAuthentication(namespace: string, mode: string): string {
  return document("security.istio.io/v1", "PeerAuthentication", "default", namespace, {}, { mtls: { mode } });
}

function document(
  apiVersion: string,
  kind: string,
  name: string,
  namespace: string,
  metadata: object,
  spec: object,
): string {
  return `---\n${JSON.stringify({ ...head(apiVersion, kind, name, namespace, metadata), spec })}\n`;
}

function head(apiVersion: string, kind: string, name: string, namespace: string, metadata: object): object {
  return { apiVersion, kind, metadata: { name, namespace, creationTimestamp: "2024-01-01T00:00:00Z", ...metadata } };
}
