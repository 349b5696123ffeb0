/**
 * Returns the YAML of Services `app-0`, `app-1`, … in turn in the namespaces `ns-0` and `ns-1`, each with a Pod that
 * has a sidecar, and an EndpointSlice.
 */
export function servicesWithPods(count: number): string {
  const objects = Array.from({ length: count }, (_, i) => {
    const name = `app-${i}`;
    const ip = `10.1.0.${i + 1}`;
    const labels = { app: name, "security.istio.io/tlsMode": "istio" };
    return [
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name, namespace: `ns-${i % 2}` },
        spec: {
          clusterIP: `10.2.0.${i + 1}`,
          selector: { app: name },
          ports: [{ name: "http", port: 80, targetPort: 8080 }],
        },
      },
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name, namespace: `ns-${i % 2}`, labels },
        spec: { serviceAccountName: name, containers: [{ name: "app" }] },
        status: { phase: "Running", podIP: ip, podIPs: [{ ip }] },
      },
      {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { name, namespace: `ns-${i % 2}`, labels: { "kubernetes.io/service-name": name } },
        addressType: "IPv4",
        endpoints: [
          { addresses: [ip], conditions: { ready: true }, targetRef: { kind: "Pod", name, namespace: `ns-${i % 2}` } },
        ],
        ports: [{ name: "http", port: 8080, protocol: "TCP" }],
      },
    ];
  });
  return objects
    .flat()
    .map((object) => `---\n${JSON.stringify(object)}\n`)
    .join("");
}
