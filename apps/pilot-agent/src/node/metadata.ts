import { type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type ProxyConfig, ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { parseGoBoolean } from "@istiod/settings";
import type { Log } from "../log.js";
import type { Platform } from "../platform/platform.js";
import { type Locality, localityLabel, parseLocality } from "./locality.js";

/** Prefix of variables, and of keys of proxyMetadata, that become metadata entries. */
const META_PREFIX = "ISTIO_META_";
/** Prefix of variables whose JSON objects are merged into the metadata. */
const META_JSON_PREFIX = "ISTIO_METAJSON_";

/** Entries that istiod parses as booleans. `1` and `t` are normalized to `true`. */
const BOOLEANS = [
  "DNS_CAPTURE",
  "DNS_AUTO_ALLOCATE",
  "ENABLE_HBONE",
  "DISABLE_HBONE_SEND",
  "ENABLE_SELF_DISCOVERY",
  "INBOUND_LISTENER_EXACT_BALANCE",
  "OUTBOUND_LISTENER_EXACT_BALANCE",
];

export interface NodeInputs {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly proxyConfig: ProxyConfig;
  readonly addresses: readonly string[];
  /** Labels of the pod, from the downward API. They override those of ISTIO_METAJSON_LABELS. */
  readonly podLabels?: Readonly<Record<string, string>>;
  readonly podAnnotations?: Readonly<Record<string, string>>;
  /** The cloud of the workload's machine. Labels take precedence over its locality. Default: unknown. */
  readonly platform?: Platform | undefined;
  /** Version of the proxy, unless ISTIO_META_ISTIO_VERSION is set. */
  readonly version: string;
  readonly pilotSubjectAltNames?: readonly string[];
  readonly outlierLogPath?: string;
  readonly statusPort: number;
  readonly prometheusPort: number;
  readonly secureMetricsPort?: number;
  readonly secureMergedMetricsPort?: number;
  readonly exitOnZeroConnections?: boolean;
  readonly skipDeprecatedLogs?: boolean;
  readonly metadataDiscovery?: boolean;
  readonly workloadIdentitySocket?: string;
  /** Reports whether another process serves credentials by name over SDS. */
  readonly credentialSocket?: boolean;
  /** Reports whether another process serves the workload's certificate, and the agent only certificate files. */
  readonly filesSocket?: boolean;
  /** Reports whether the agent serves roots together with revocation lists of a file, which Istio's agent does not. */
  readonly servesRevocationLists?: boolean;
  readonly log?: Log;
}

/** The node that a proxy sends to istiod. */
export interface NodeMetadata {
  readonly metadata: JsonObject;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly locality: Locality;
}

/** Builds the node's metadata from the environment, with the keys of Istio's `NodeMetadata`. */
export function buildNodeMetadata(inputs: NodeInputs): NodeMetadata {
  const { env, proxyConfig } = inputs;
  const raw = fromEnvironment(inputs);
  const staticLabels = readMap(env["ISTIO_METAJSON_LABELS"]);
  const labels = mergeLabels(staticLabels, inputs.podLabels);
  const annotations = { ...readMap(raw["ANNOTATIONS"]), ...inputs.podAnnotations };
  const locality = localityLabel(labels);
  if (locality !== "") labels["istio-locality"] = locality;
  const discovery = inputs.metadataDiscovery ?? isTrue(raw["ENABLE_HBONE"]);

  const known: Record<string, JsonValue | undefined> = {
    PROXY_CONFIG: toJson(ProxyConfigSchema, proxyConfig),
    ISTIO_VERSION: text(raw["ISTIO_VERSION"]) ?? inputs.version,
    INSTANCE_IPS: [...new Set(inputs.addresses)].join(","),
    NAME: env["POD_NAME"] || undefined,
    NAMESPACE: env["POD_NAMESPACE"] || text(raw["NAMESPACE"]),
    SERVICE_ACCOUNT: env["SERVICE_ACCOUNT"] || text(raw["SERVICE_ACCOUNT"]),
    LABELS: nonEmpty(labels),
    STATIC_LABELS: nonEmpty(inputs.podLabels ? staticLabels : labels),
    ANNOTATIONS: nonEmpty(annotations),
    PILOT_SAN: inputs.pilotSubjectAltNames?.length ? [...inputs.pilotSubjectAltNames] : undefined,
    OUTLIER_LOG_PATH: inputs.outlierLogPath || undefined,
    ENVOY_STATUS_PORT: inputs.statusPort || undefined,
    ENVOY_PROMETHEUS_PORT: inputs.prometheusPort || undefined,
    ENVOY_SECURE_METRICS_PORT: inputs.secureMetricsPort || undefined,
    ENVOY_SECURE_MERGED_METRICS_PORT: inputs.secureMergedMetricsPort || undefined,
    EXIT_ON_ZERO_ACTIVE_CONNECTIONS: inputs.exitOnZeroConnections ? "true" : undefined,
    ENVOY_SKIP_DEPRECATED_LOGS: inputs.skipDeprecatedLogs ? "true" : undefined,
    METADATA_DISCOVERY: String(discovery),
    WORKLOAD_IDENTITY_SOCKET_FILE: inputs.workloadIdentitySocket || undefined,
    DNS_PROXY_ADDR: env["DNS_PROXY_ADDR"] || undefined,
    PLATFORM_METADATA: nonEmpty(inputs.platform?.metadata ?? {}),
    credential: inputs.credentialSocket ? "true" : undefined,
    "file-credential": inputs.filesSocket ? "true" : undefined,
    FILE_CRL: inputs.servesRevocationLists ? "true" : undefined,
  };
  const booleans = BOOLEANS.filter((name) => isTrue(raw[name])).map((name) => [name, "true"]);
  const metadata = { ...raw, ...Object.fromEntries(booleans), ...withoutAbsent(known) };
  return {
    metadata,
    labels,
    annotations,
    locality: locality === "" ? (inputs.platform?.locality ?? {}) : parseLocality(locality),
  };
}

function fromEnvironment({ env, proxyConfig, log }: NodeInputs): JsonObject {
  const raw: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(proxyConfig.proxyMetadata))
    if (name.startsWith(META_PREFIX)) raw[name.slice(META_PREFIX.length)] = value;
  for (const [name, value] of Object.entries(env))
    if (name.startsWith(META_PREFIX) && value !== undefined) raw[name.slice(META_PREFIX.length)] = value;
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(META_JSON_PREFIX) || value === undefined) continue;
    const object = readObject(value);
    if (object) Object.assign(raw, object);
    else log?.warn(`${name}: must be a JSON object; ignoring it`);
  }
  return raw;
}

/** Merges the pod's labels over the static ones, without the hash that changes with each rollout. */
function mergeLabels(
  staticLabels: Readonly<Record<string, string>>,
  pod: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const { "pod-template-hash": _, ...own } = pod ?? {};
  return { ...staticLabels, ...own };
}

function readObject(value: unknown): JsonObject | undefined {
  try {
    const parsed: unknown = typeof value === "string" ? JSON.parse(value) : value;
    return parsed !== null && typeof parsed === "object" && !Array.isArray(parsed) ? (parsed as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

function readMap(value: unknown): Record<string, string> {
  const entries = Object.entries(readObject(value) ?? {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return Object.fromEntries(entries);
}

function nonEmpty(map: Readonly<Record<string, string>>): Record<string, string> | undefined {
  return Object.keys(map).length === 0 ? undefined : { ...map };
}

function withoutAbsent(map: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(map).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  );
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Reports whether a value is true, or the text of a true Go boolean. */
export function isTrue(value: unknown): boolean {
  return value === true || (typeof value === "string" && parseGoBoolean(value) === true);
}
