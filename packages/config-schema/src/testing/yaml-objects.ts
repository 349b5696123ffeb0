/** Documents of YAML from their texts. */
export const documents = (...texts: readonly string[]): string =>
  texts.map((text) => text.trim()).join("\n---\n") + "\n";

export interface ServiceOptions {
  readonly port?: number;
  /** The port's name, whose first part selects the protocol. Default `http`. */
  readonly portName?: string;
  readonly annotations?: string;
  readonly labels?: string;
}

/** A Service that selects `app: <name>`, whose workloads listen on 8080. */
export function service(
  host: string,
  clusterIP: string,
  { port = 80, portName = "http", annotations = "{}", labels = "{}" }: ServiceOptions = {},
): string {
  const [name, namespace] = host.split(".");
  return `
apiVersion: v1
kind: Service
metadata: {name: ${name}, namespace: ${namespace}, labels: ${labels}, annotations: ${annotations}}
spec:
  clusterIP: ${clusterIP}
  selector: {app: ${name}}
  ports: [{name: ${portName}, port: ${port}, targetPort: 8080}]
`;
}

export interface Workload {
  readonly ip: string;
  readonly version?: string;
  readonly ready?: boolean;
  readonly sidecar?: boolean;
}

/** The pods of a service, named `<name>-<version>`, and the EndpointSlice that has them. */
export function workloads(host: string, pods: readonly Workload[], portName = "http"): string {
  const [name, namespace] = host.split(".");
  const endpoints = pods.map(
    ({ ip, version = "v1", ready = true }) =>
      `- {addresses: [${ip}], conditions: {ready: ${ready}, serving: ${ready}, terminating: false}, targetRef: {kind: Pod, name: ${name}-${version}, namespace: ${namespace}}}`,
  );
  const each = pods.map(
    ({ ip, version = "v1", sidecar = true }) => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}-${version}, namespace: ${namespace}, labels: {app: ${name}, version: ${version}${sidecar ? ", security.istio.io/tlsMode: istio" : ""}}}
spec: {serviceAccountName: ${name}, containers: [{name: app}]}
status: {phase: Running, podIP: ${ip}, podIPs: [{ip: ${ip}}], conditions: [{type: Ready, status: "True"}]}
`,
  );
  return documents(
    ...each,
    `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: ${name}, namespace: ${namespace}, labels: {kubernetes.io/service-name: ${name}}}
addressType: IPv4
ports: [{name: ${portName}, port: 8080}]
endpoints:
${endpoints.join("\n")}`,
  );
}

/** An object of Istio's API. */
export function istio(kind: string, name: string, namespace: string, spec: string): string {
  const group = /Authentication|Authorization/.test(kind) ? "security" : "networking";
  return `
apiVersion: ${group}.istio.io/v1
kind: ${kind}
metadata: {name: ${name}, namespace: ${namespace}}
spec:
${spec.replace(/^\n/, "").replace(/\s+$/, "").replace(/^/gm, "  ")}
`;
}
