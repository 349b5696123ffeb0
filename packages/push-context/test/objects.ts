/** A Kubernetes Service with one port. */
export function kubernetesService(
  namespace: string,
  name: string,
  { port = 80, portName = "http", age = 0, address = "10.1.0.1", annotations = "{}" } = {},
): string {
  return `
apiVersion: v1
kind: Service
metadata: {name: ${name}, namespace: ${namespace}, creationTimestamp: "${stamp(age)}", annotations: ${annotations}}
spec: {clusterIP: ${address}, selector: {app: ${name}}, ports: [{name: ${portName}, port: ${port}}]}
---`;
}

/** An object of the networking API, created `age` hours ago; `spec` is YAML in flow style. */
export function networking(kind: string, namespace: string, name: string, spec: string, { age = 0 } = {}): string {
  return `
apiVersion: networking.istio.io/v1
kind: ${kind}
metadata: {name: ${name}, namespace: ${namespace}, creationTimestamp: "${stamp(age)}"}
spec: ${spec}
---`;
}

function stamp(hoursOld: number): string {
  return new Date(Date.UTC(2025, 0, 1) - hoursOld * 3_600_000).toISOString();
}
