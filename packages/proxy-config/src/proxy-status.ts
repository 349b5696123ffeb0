import type { JsonObject } from "@bufbuild/protobuf";
import { type ClientConfig, ClientConfigSchema, ConfigStatus } from "@istiod/envoy-api/envoy/service/status/v3/csds";
import { clusterType, endpointType, extensionConfigType, listenerType, routeType, xdsType } from "@istiod/resources";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { compare } from "./resources/cluster-name.js";
import { dumpedResource, objectIn, objectsIn, parseJson } from "./dump/config-dump.js";
import { humanDuration } from "./human-duration.js";
import type { Table } from "./table.js";

/** The synchronization status of a proxy. */
export interface ProxyStatus {
  readonly proxy: string;
  readonly namespace: string;
  readonly cluster: string;
  /** The istiod instance to which the proxy is connected. */
  readonly istiod: string;
  /** The proxy's Istio version. */
  readonly version: string;
  /** Subscribed types by URL. */
  readonly types: ReadonlyMap<string, { readonly status: ConfigStatus; readonly lastUpdated: number | undefined }>;
  /** The packed `ClientConfig`. */
  readonly json: JsonObject;
}

/** The proxies that an istiod reports, with the response itself. */
export interface ProxyStatuses {
  readonly response: JsonObject;
  readonly proxies: readonly ProxyStatus[];
}

export interface ProxyStatusTableOptions {
  /** Prints a column for each type instead of the list of subscribed types. Default: false. */
  readonly verbose?: boolean;
  /** Reference time for ages, in milliseconds since the epoch. Default: now. */
  readonly now?: number;
}

/**
 * Parses a `DiscoveryResponse` of the type `istio.io/debug/syncz` as JSON: one `envoy.service.status.v3.ClientConfig`
 * for each proxy, and the instance of istiod in the identifier of the control plane.
 *
 * @param namespace namespace of the proxies to return. Default: all
 * @throws ProxyConfigError
 */
export function readProxyStatuses(text: string, namespace?: string): ProxyStatuses {
  const json = parseJson(text, "proxy status");
  const istiod = instanceOf(json);
  const all = objectsIn(json, "resources").map((packed) =>
    proxyStatus(dumpedResource(ClientConfigSchema, packed).message, istiod, packed),
  );
  const proxies = all
    .filter((status) => !namespace || status.namespace === namespace)
    .sort((a, b) => compare(a.proxy, b.proxy));
  return { response: namespace ? { ...json, resources: proxies.map((status) => status.json) } : json, proxies };
}

/** Builds the table of `istioctl proxy-status`. */
export function proxyStatusTable(
  { proxies }: Pick<ProxyStatuses, "proxies">,
  { verbose = false, now = Date.now() }: ProxyStatusTableOptions = {},
): Table {
  const columns = verbose
    ? [...new Set([...alwaysShown, ...proxies.flatMap(({ types }) => [...types.keys()])])].sort(compare)
    : [];
  const subscribedOrder = (types: ProxyStatus["types"]): readonly string[] =>
    [...types.keys()].sort((a, b) => rank(a) - rank(b) || compare(a, b));
  const rows = proxies.map(({ proxy, cluster, istiod, version, types }) => {
    if (verbose) return [proxy, cluster, ...columns.map((type) => describe(types.get(type), now)), istiod, version];
    const subscribed = subscribedOrder(types)
      .filter((type) => types.get(type)?.status !== ConfigStatus.UNKNOWN)
      .map(shortName);
    return [
      proxy,
      cluster,
      istiod,
      version,
      subscribed.length === 0 ? "0" : `${subscribed.length} (${subscribed.join(",")})`,
    ];
  });
  const header = verbose
    ? ["NAME", "CLUSTER", ...columns.map(shortName), "ISTIOD", "VERSION"]
    : ["NAME", "CLUSTER", "ISTIOD", "VERSION", "SUBSCRIBED TYPES"];
  return [header, ...rows];
}

const subscribedFirst = [clusterType, listenerType, endpointType, routeType];
const alwaysShown = [...subscribedFirst, extensionConfigType];

function shortName(typeUrl: string): string {
  return xdsType(typeUrl)?.shortName?.toUpperCase() ?? typeUrl;
}

function rank(typeUrl: string): number {
  const at = subscribedFirst.indexOf(typeUrl);
  return at < 0 ? subscribedFirst.length : at;
}

function proxyStatus({ node, genericXdsConfigs }: ClientConfig, istiod: string, json: JsonObject): ProxyStatus {
  const metadata = (name: string): string => {
    const value = node?.metadata?.[name];
    return typeof value === "string" ? value : "";
  };
  return {
    proxy: node?.id ?? "",
    namespace: metadata("NAMESPACE"),
    cluster: metadata("CLUSTER_ID"),
    istiod,
    version: metadata("ISTIO_VERSION"),
    types: new Map(
      genericXdsConfigs.map(({ typeUrl, configStatus, lastUpdated }) => [
        typeUrl,
        { status: configStatus, lastUpdated: lastUpdated && timestampMs(lastUpdated) },
      ]),
    ),
    json,
  };
}

/** Returns the ID in the identifier of a control plane, which Istio encodes as JSON. */
function instanceOf(response: JsonObject): string {
  const identifier = objectIn(response, "controlPlane")?.["identifier"];
  if (typeof identifier !== "string") return "MISSING";
  try {
    const instance = JSON.parse(identifier) as { readonly ID?: unknown };
    return typeof instance.ID === "string" ? instance.ID : "INVALID";
  } catch {
    return "INVALID";
  }
}

function describe(
  type: { readonly status: ConfigStatus; readonly lastUpdated: number | undefined } | undefined,
  now: number,
): string {
  if (type === undefined || type.status === ConfigStatus.UNKNOWN) return "IGNORED";
  if (type.status === ConfigStatus.NOT_SENT) return "NOT SENT";
  const name = ConfigStatus[type.status] ?? String(type.status);
  return type.lastUpdated === undefined ? name : `${name} (${humanDuration(now - type.lastUpdated)})`;
}
