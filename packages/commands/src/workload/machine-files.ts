import { toJson } from "@bufbuild/protobuf";
import { applyProxyConfigAnnotation, formatPath, parseYaml } from "@istiod/config-schema";
import { type ProxyConfig, ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { CANONICAL_NAME_LABEL, CANONICAL_REVISION_LABEL, canonicalServiceOf } from "@istiod/service-discovery";
import { stringify } from "yaml";
import type { WorkloadGroup } from "./workload-group.js";

/** Inputs of the files that a virtual machine needs in addition to its credentials. */
export interface MachineOptions {
  readonly group: WorkloadGroup;
  /** Mesh configuration of the control plane, as valid text, and its place for errors. */
  readonly mesh: { readonly name: string; readonly text: string };
  /** Namespace of the control plane. */
  readonly istioNamespace: string;
  /** Revision of the control plane; `default` or empty for that without one. */
  readonly revision: string;
  readonly clusterId: string;
  /** Address that others reach the workload at, and whether it is external. */
  readonly address?: { readonly ip: string; readonly isExternal: boolean } | undefined;
  readonly capturesDns: boolean;
  readonly registers: boolean;
}

/** Files of a virtual machine by name. */
export interface MachineFiles {
  /** Proxy configuration of the agent. */
  readonly "mesh.yaml": string;
  /** Environment of the agent and of the redirection. */
  readonly "cluster.env": string;
}

/**
 * Returns the files of a virtual machine that its WorkloadGroup and the mesh configuration decide
 * (istioctl/pkg/workload/workload.go).
 *
 * @throws Error if the mesh configuration or an annotation `proxy.istio.io/config` is invalid
 */
export function machineFiles(options: MachineOptions): MachineFiles {
  const config = machineConfig(options);
  return {
    "mesh.yaml": stringify(
      { defaultConfig: toJson(ProxyConfigSchema, config) },
      { lineWidth: 0, sortMapEntries: true },
    ),
    "cluster.env": environmentFile({ ...config.proxyMetadata, ...redirection(options, config) }),
  };
}

/** Returns the host name of a control plane. */
export function istiodHost(namespace: string, revision: string): string {
  return `istiod${isRevision(revision) ? `-${revision}` : ""}.${namespace}.svc`;
}

const isRevision = (revision: string): boolean => revision !== "" && revision !== "default";

const istiodAddress = ({ istioNamespace, revision }: MachineOptions): string =>
  `${istiodHost(istioNamespace, revision)}:15012`;

function machineConfig(options: MachineOptions): ProxyConfig {
  const { group, mesh, revision } = options;
  const { defaultConfig = {}, trustDomain = "" } = meshFields(mesh);
  let config = withYaml(undefined, stringify(defaultConfig), `${mesh.name}: defaultConfig`);
  if (isRevision(revision) && config.discoveryAddress === "") config.discoveryAddress = istiodAddress(options);
  for (const [place, annotations] of [
    ["metadata", group.annotations],
    ["spec.metadata", group.workload.annotations],
  ] as const) {
    const value = annotations["proxy.istio.io/config"];
    if (value !== undefined)
      config = withYaml(config, value, `WorkloadGroup ${group.name}: ${place}.annotations[proxy.istio.io/config]`);
  }
  if (group.probe !== undefined) config.readinessProbe = group.probe;
  config.proxyMetadata = { ...config.proxyMetadata, ...machineMetadata(options, config, trustDomain) };
  return config;
}

/** Returns a proxy configuration with the fields of a YAML text set. @throws Error if it is invalid */
function withYaml(base: ProxyConfig | undefined, text: string, place: string): ProxyConfig {
  const faults: string[] = [];
  const config = applyProxyConfigAnnotation(base, text, {
    error: (path, message) => void faults.push(`${place}: ${formatPath(path)} ${message}`.replace(":  ", ": ")),
    warning: () => undefined,
  });
  if (config === undefined) throw new Error(faults.join("\n"));
  return config;
}

interface MeshFields {
  readonly defaultConfig?: unknown;
  readonly trustDomain?: string;
}

function meshFields({ name, text }: MachineOptions["mesh"]): MeshFields {
  const parsed = parseYaml({ text, line: 1 }, { allowsDuplicateKeys: true });
  if ("message" in parsed) throw new Error(`${name}:${parsed.line}: ${parsed.message}`);
  return (parsed.value ?? {}) as MeshFields;
}

/** Returns what the agent says of the workload, as the injector writes it into a Pod. */
function machineMetadata(
  { group, clusterId, capturesDns, registers }: MachineOptions,
  { meshId }: ProxyConfig,
  trustDomain: string,
): Record<string, string> {
  const canonical = canonicalServiceOf(group.workload.labels, group.name);
  const labels = {
    ...group.workload.labels,
    [CANONICAL_NAME_LABEL]: canonical.name,
    [CANONICAL_REVISION_LABEL]: canonical.revision,
  };
  const ports = Object.entries(group.workload.ports).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    CANONICAL_SERVICE: canonical.name,
    CANONICAL_REVISION: canonical.revision,
    POD_NAMESPACE: group.namespace,
    SERVICE_ACCOUNT: group.workload.serviceAccount,
    TRUST_DOMAIN: trustDomain,
    ISTIO_META_CLUSTER_ID: clusterId,
    ISTIO_META_MESH_ID: meshId,
    ISTIO_META_NETWORK: group.workload.network,
    ISTIO_META_WORKLOAD_NAME: group.name,
    ISTIO_METAJSON_LABELS: JSON.stringify(Object.fromEntries(Object.entries(labels).sort(byKey))),
    ...(ports.length > 0 && {
      ISTIO_META_POD_PORTS: JSON.stringify(ports.map(([name, containerPort]) => ({ name, containerPort }))),
    }),
    ...(capturesDns && { ISTIO_META_DNS_CAPTURE: "true" }),
    ...(registers && { ISTIO_META_AUTO_REGISTER_GROUP: group.name }),
  };
}

const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1);

/** Ports of SSH, of Envoy's metrics and of the agent's health, at which nothing may lock the owner out. */
const openPorts = [22, 15090, 15021];

/** Port of the agent's status server. */
const defaultStatusPort = 15020;

/** Returns the variables of the redirection. */
function redirection(options: MachineOptions, { statusPort }: ProxyConfig): Record<string, string> {
  const { group, revision, address } = options;
  const ports = Object.values(group.workload.ports).sort((a, b) => a - b);
  const excluded = new Set([...openPorts, statusPort || defaultStatusPort]);
  return {
    ISTIO_INBOUND_PORTS: ports.length > 0 ? ports.join(",") : "*",
    ISTIO_NAMESPACE: group.namespace,
    ISTIO_SERVICE: `${group.name}.${group.namespace}`,
    ISTIO_SERVICE_CIDR: "*",
    ISTIO_LOCAL_EXCLUDE_PORTS: [...excluded].join(","),
    SERVICE_ACCOUNT: group.workload.serviceAccount,
    ...(isRevision(revision) && { CA_ADDR: istiodAddress(options) }),
    ...(address && { ISTIO_SVC_IP: address.ip }),
    ...(address?.isExternal && { REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: "true" }),
  };
}

/** Returns variables as lines that a shell reads. */
function environmentFile(variables: Readonly<Record<string, string>>): string {
  const lines = Object.entries(variables).map(([name, value]) => `${name}='${value.replaceAll("'", `'"'"'`)}'`);
  return `${lines.sort().join("\n")}\n`;
}
