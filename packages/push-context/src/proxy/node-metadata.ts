import { fromJson, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { formatPath, readProxyConfig } from "@istiod/config-schema";
import { readsAlike } from "@istiod/config-schema/decoding";
import { ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { parseGoBoolean } from "@istiod/settings";
import { ProxyNodeError } from "./proxy-node-error.js";

/** Formats of node metadata values, with the types that they are parsed to. */
interface MetadataFormats {
  readonly text: string;
  /** A boolean in a string. */
  readonly flag: boolean;
  readonly integer: number;
  /** A comma-separated string. */
  readonly list: readonly string[];
  readonly strings: Readonly<Record<string, string>>;
  /** JSON of ProxyConfig; read with `proxyConfig`. */
  readonly proxyConfig: JsonObject;
  /** JSON in a string. */
  readonly podPorts: readonly PodPort[];
}

/** A container port of the pod. */
export interface PodPort {
  readonly name: string;
  readonly containerPort: number;
  readonly protocol: string;
}

/** The node metadata keys that istiod reads (pkg/model/proxy.go), with their formats. */
export const nodeMetadataFormats = {
  ANNOTATIONS: "strings",
  APP_CONTAINERS: "text",
  AUTO_REGISTER_GROUP: "text",
  CLUSTER_ID: "text",
  DISABLE_HBONE_SEND: "flag",
  DNS_AUTO_ALLOCATE: "flag",
  DNS_CAPTURE: "flag",
  DNS_PROXY_ADDR: "text",
  ENABLE_HBONE: "flag",
  ENABLE_SELF_DISCOVERY: "flag",
  ENVOY_PROMETHEUS_PORT: "integer",
  ENVOY_SECURE_MERGED_METRICS_PORT: "integer",
  ENVOY_SECURE_METRICS_PORT: "integer",
  ENVOY_STATUS_PORT: "integer",
  EXIT_ON_ZERO_ACTIVE_CONNECTIONS: "flag",
  GENERATOR: "text",
  HTTP10: "text",
  HTTP_PROXY_PORT: "text",
  IDLE_TIMEOUT: "text",
  INBOUND_LISTENER_EXACT_BALANCE: "flag",
  INSTANCE_IPS: "list",
  INTERCEPTION_MODE: "text",
  ISTIO_REVISION: "text",
  ISTIO_VERSION: "text",
  LABELS: "strings",
  MESH_ID: "text",
  METADATA_DISCOVERY: "flag",
  NAME: "text",
  NAMESPACE: "text",
  NETWORK: "text",
  NODE_NAME: "text",
  OUTBOUND_LISTENER_EXACT_BALANCE: "flag",
  OWNER: "text",
  PLATFORM_METADATA: "strings",
  POD_PORTS: "podPorts",
  PROXY_CONFIG: "proxyConfig",
  REQUESTED_NETWORK_VIEW: "list",
  SERVICE_ACCOUNT: "text",
  STATIC_LABELS: "strings",
  STS_PORT: "text",
  TLS_CLIENT_CERT_CHAIN: "text",
  TLS_CLIENT_KEY: "text",
  TLS_CLIENT_ROOT_CERT: "text",
  TLS_SERVER_CERT_CHAIN: "text",
  TLS_SERVER_KEY: "text",
  TLS_SERVER_ROOT_CERT: "text",
  UNPRIVILEGED_POD: "text",
  WORKLOAD_ENTRY: "text",
  WORKLOAD_IDENTITY_SOCKET_FILE: "text",
  WORKLOAD_NAME: "text",
} as const satisfies Record<string, keyof MetadataFormats>;

export type NodeMetadataKey = keyof typeof nodeMetadataFormats;

/** Parsed node metadata. Keys that the proxy did not send are absent. */
export type NodeMetadata = {
  readonly [K in NodeMetadataKey]?: MetadataFormats[(typeof nodeMetadataFormats)[K]];
};

/**
 * Parses node metadata. Unknown keys are ignored.
 * @throws ProxyNodeError if a known key has an unexpected format.
 */
export function parseNodeMetadata(raw: JsonObject): NodeMetadata {
  const out: Record<string, unknown> = {};
  for (const [key, format] of Object.entries(nodeMetadataFormats)) {
    const value = raw[key];
    if (value !== undefined && value !== null) {
      out[key] = readers[format](value, key);
    }
  }
  return out as NodeMetadata;
}

const readers: { readonly [F in keyof MetadataFormats]: (value: JsonValue, key: string) => MetadataFormats[F] } = {
  text: readText,
  flag: (value, key) => parseBoolean(readText(value, key), key),
  integer: (value, key) => {
    if (typeof value !== "number" || !Number.isInteger(value)) {
      throw new ProxyNodeError(
        "invalid_metadata",
        `node metadata ${key}: expected an integer, not ${JSON.stringify(value)}`,
      );
    }
    return value;
  },
  list: (value, key) => {
    const text = readText(value, key);
    return text === "" ? [] : text.split(",");
  },
  strings: (value, key) =>
    Object.fromEntries(
      Object.entries(readObject(value, key)).map(([name, item]) => [name, readText(item, `${key}.${name}`)]),
    ),
  proxyConfig: (value, key) => readProxyConfigJson(readObject(value, key), key),
  podPorts: (value, key) => readPodPorts(readText(value, key), key),
};

function readText(value: JsonValue, key: string): string {
  if (typeof value !== "string") {
    throw new ProxyNodeError(
      "invalid_metadata",
      `node metadata ${key}: expected a string, not ${JSON.stringify(value)}`,
    );
  }
  return value;
}

function readObject(value: JsonValue, key: string): JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ProxyNodeError(
      "invalid_metadata",
      `node metadata ${key}: expected an object, not ${JSON.stringify(value)}`,
    );
  }
  return value;
}

/** Returns ProxyConfig in protobuf JSON. Agents write it so; other clients may write durations in Go's syntax. */
function readProxyConfigJson(value: JsonObject, key: string): JsonObject {
  if (readsAlike(ProxyConfigSchema, value) && isWellFormed(value)) return value;
  const faults: string[] = [];
  const message = readProxyConfig(value, {
    warning: () => undefined,
    error: (path, fault) => faults.push(`${formatPath(path)}: ${fault}`),
  });
  if (message !== undefined) return toJson(ProxyConfigSchema, message) as JsonObject;
  throw new ProxyNodeError("invalid_metadata", `node metadata ${key}: ${faults.join("; ")}`);
}

function isWellFormed(proxyConfig: JsonObject): boolean {
  try {
    fromJson(ProxyConfigSchema, proxyConfig, { ignoreUnknownFields: true });
    return true;
  } catch {
    return false;
  }
}

function readArray(value: JsonValue, key: string): JsonValue[] {
  if (!Array.isArray(value)) {
    throw new ProxyNodeError("invalid_metadata", `node metadata ${key}: expected a list, not ${JSON.stringify(value)}`);
  }
  return value;
}

function readPodPorts(text: string, key: string): readonly PodPort[] {
  let parsed: JsonValue;
  try {
    parsed = JSON.parse(text) as JsonValue;
  } catch (cause) {
    throw new ProxyNodeError("invalid_metadata", `node metadata ${key}: expected JSON in a string`, { cause });
  }
  return readArray(parsed, key).map((item) => {
    const port = readObject(item, key);
    return {
      name: readText(port["name"] ?? "", key),
      containerPort: readers.integer(port["containerPort"] ?? 0, key),
      protocol: readText(port["protocol"] ?? "", key),
    };
  });
}

function parseBoolean(text: string, key: string): boolean {
  const value = parseGoBoolean(text);
  if (value === undefined) {
    throw new ProxyNodeError(
      "invalid_metadata",
      `node metadata ${key}: expected true or false, not ${JSON.stringify(text)}`,
    );
  }
  return value;
}
