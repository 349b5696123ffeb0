import { type ApiClient, requestToken } from "@istiod/kubernetes";
import { parse, stringify } from "yaml";
import type { ConfigMap, Service } from "../kube/objects.js";

/** A WorkloadGroup, as far as the files of its machines depend on it. */
export interface WorkloadGroup {
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly spec: {
    readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
    readonly template: { readonly serviceAccount: string; readonly network?: string };
    readonly probe?: object;
  };
}

/** The contents of the files of a machine, as `istioctl x workload entry configure --autoregister` writes them. */
export interface WorkloadFiles {
  readonly meshYaml: string;
  readonly clusterEnv: string;
  readonly rootCertificate: string;
  readonly token: string;
  /** Lines of `/etc/hosts`. */
  readonly hosts: string;
}

const SYSTEM_NAMESPACE = "istio-system";
/** ssh, Envoy's metrics, its health port, and the status port: traffic to them is not redirected. */
const EXCLUDED_PORTS = "22,15090,15021,15020";

/**
 * Reads what a machine needs to join the mesh from the cluster. Its address for istiod is the cluster IP, which the
 * machines here reach; that of an east-west gateway elsewhere.
 */
export async function workloadFiles(
  client: ApiClient,
  { metadata, spec }: WorkloadGroup,
  address: string,
): Promise<WorkloadFiles> {
  const { namespace } = metadata;
  const { serviceAccount } = spec.template;
  const read = <T>(from: string, path: string): Promise<T> =>
    client.json<T>({ path: `/api/v1/namespaces/${from}/${path}` });
  const root = await read<ConfigMap>(namespace, "configmaps/istio-ca-root-cert");
  const mesh = await read<ConfigMap>(SYSTEM_NAMESPACE, "configmaps/istio");
  const istiod = await read<Service>(SYSTEM_NAMESPACE, "services/istiod");
  const { token } = await requestToken(client, { namespace, name: serviceAccount }, { audiences: ["istio-ca"] });
  const proxyConfig = proxyConfigOf({ metadata, spec }, parse(mesh.data?.["mesh"] ?? "") as MeshConfig);
  return {
    meshYaml: stringify({ defaultConfig: proxyConfig }),
    clusterEnv: environmentFile({
      ...proxyConfig.proxyMetadata,
      ISTIO_INBOUND_PORTS: "*",
      ISTIO_NAMESPACE: namespace,
      ISTIO_SERVICE: `${metadata.name}.${namespace}`,
      ISTIO_SERVICE_CIDR: "*",
      ISTIO_LOCAL_EXCLUDE_PORTS: EXCLUDED_PORTS,
      SERVICE_ACCOUNT: serviceAccount,
      ISTIO_SVC_IP: address,
    }),
    rootCertificate: root.data?.["root-cert.pem"] ?? "",
    token,
    hosts: `${istiod.spec.clusterIP ?? ""} istiod.${SYSTEM_NAMESPACE}.svc\n`,
  };
}

interface MeshConfig {
  readonly trustDomain?: string;
  readonly defaultConfig?: { readonly meshId?: string; readonly proxyMetadata?: Readonly<Record<string, string>> };
}

function proxyConfigOf({ metadata: { namespace, name }, spec }: WorkloadGroup, mesh: MeshConfig) {
  const { trustDomain = "cluster.local", defaultConfig = {} } = mesh;
  const { labels = {} } = spec.metadata ?? {};
  const canonical = {
    name: labels["service.istio.io/canonical-name"] ?? labels["app"] ?? name,
    revision: labels["service.istio.io/canonical-revision"] ?? labels["version"] ?? "latest",
  };
  const all = {
    ...labels,
    "service.istio.io/canonical-name": canonical.name,
    "service.istio.io/canonical-revision": canonical.revision,
  };
  const proxyMetadata = {
    ...defaultConfig.proxyMetadata,
    CANONICAL_SERVICE: canonical.name,
    CANONICAL_REVISION: canonical.revision,
    POD_NAMESPACE: namespace,
    SERVICE_ACCOUNT: spec.template.serviceAccount,
    TRUST_DOMAIN: trustDomain,
    ISTIO_META_CLUSTER_ID: "Kubernetes",
    ISTIO_META_MESH_ID: defaultConfig.meshId ?? "",
    ISTIO_META_NETWORK: spec.template.network ?? "",
    ISTIO_META_WORKLOAD_NAME: name,
    ISTIO_METAJSON_LABELS: JSON.stringify(all),
    ISTIO_META_DNS_CAPTURE: "true",
    ISTIO_META_AUTO_REGISTER_GROUP: name,
  };
  return { ...defaultConfig, ...(spec.probe && { readinessProbe: spec.probe }), proxyMetadata };
}

/** Returns variables as a file that a shell reads. */
function environmentFile(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `${name}='${value.replaceAll("'", `'"'"'`)}'\n`)
    .sort()
    .join("");
}
