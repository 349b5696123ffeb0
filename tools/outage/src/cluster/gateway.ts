import { certificateFor } from "@istiod/e2e";
import type { MeshObject } from "./cluster-objects.js";
import { base64 } from "./kubeconfig.js";
import type { TestCluster } from "./test-cluster.js";

/** A gateway whose service account may have the Secrets of its namespace. */
export interface Gateway {
  readonly nodeId: string;
  readonly namespace: string;
  readonly serviceAccount: string;
  /** Name of its certificate in xDS. */
  readonly certificate: string;
  /** Token of the service account for istiod. */
  readonly token: string;
}

const namespace = "edge";
const serviceAccount = "gateway";
const secret = "front";
const address = "10.201.0.1";
const labels = { app: serviceAccount };

/** Creates the objects of a gateway with a certificate. */
export async function createGateway({ objects }: TestCluster): Promise<Gateway> {
  const { server } = await certificateFor("front.example");
  await objects.write([...gatewayObjects, secretOf(server)] as readonly MeshObject[]);
  return {
    nodeId: `router~${address}~${serviceAccount}.${namespace}~${namespace}.svc.cluster.local`,
    namespace,
    serviceAccount,
    certificate: `kubernetes://${secret}`,
    token: await objects.issueToken(namespace, serviceAccount),
  };
}

const rbac = "rbac.authorization.k8s.io";
const gatewayObjects = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: serviceAccount, namespace } },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: serviceAccount, namespace, labels },
    spec: { serviceAccountName: serviceAccount, containers: [{ name: "proxy", image: "proxy" }] },
    status: { phase: "Running", podIP: address, podIPs: [{ ip: address }] },
  },
  {
    apiVersion: "networking.istio.io/v1",
    kind: "Gateway",
    metadata: { name: serviceAccount, namespace },
    spec: {
      selector: labels,
      servers: [
        {
          port: { number: 443, name: "https", protocol: "HTTPS" },
          hosts: ["front.example"],
          tls: { mode: "SIMPLE", credentialName: secret },
        },
      ],
    },
  },
  {
    apiVersion: `${rbac}/v1`,
    kind: "Role",
    metadata: { name: serviceAccount, namespace },
    rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch"] }],
  },
  {
    apiVersion: `${rbac}/v1`,
    kind: "RoleBinding",
    metadata: { name: serviceAccount, namespace },
    roleRef: { apiGroup: rbac, kind: "Role", name: serviceAccount },
    subjects: [{ kind: "ServiceAccount", name: serviceAccount, namespace }],
  },
];

const secretOf = ({ cert, key }: { readonly cert: string; readonly key: string }): object => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: secret, namespace },
  type: "kubernetes.io/tls",
  data: { "tls.crt": base64(cert), "tls.key": base64(key) },
});
