import { readText, setObjects } from "@istiod/config-schema";
import type { Transaction } from "@istiod/incremental";
import { type MeshConfig, MeshConfig_IngressControllerMode } from "@istiod/istio-api/mesh/v1alpha1/config";

/** The namespace of the assumed gateway. */
const namespace = "istio-system";

/** The ports of the assumed Service, which are those of Istio's own ingress gateway. */
const ports = [
  { name: "http2", port: 80, targetPort: 8080 },
  { name: "https", port: 443, targetPort: 8443 },
  { name: "tcp", port: 31400, targetPort: 31400 },
  { name: "tls", port: 15443, targetPort: 15443 },
];

/**
 * Writes the Service and a pod of the default ingress gateway, so that files without the installation have no findings
 * about its absence. Writes nothing if `ingressControllerMode` is `OFF`. Objects in the files replace the assumed ones.
 */
export function assumeIngressGateway(tx: Transaction, config: MeshConfig, cluster: string): void {
  if (config.ingressControllerMode === MeshConfig_IngressControllerMode.OFF) return;
  const name = config.ingressService || "istio-ingressgateway";
  const labels = { istio: "ingressgateway" };
  const documents = [
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace },
      spec: { selector: labels, ports: ports.map((port) => ({ ...port, protocol: "TCP" })) },
    },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: `${name}-dummypod`, namespace, labels },
      spec: { containers: [{ name: "istio-proxy", image: "auto" }] },
    },
  ];
  for (const document of documents) {
    const readings = readText(JSON.stringify(document), "assumed ingress gateway", { cluster });
    setObjects(
      tx,
      readings.flatMap((reading) => reading.objects),
    );
  }
}
