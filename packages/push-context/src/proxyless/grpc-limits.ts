import type {
  DestinationRule,
  LoadBalancerSettings,
  TrafficPolicy,
  TrafficPolicy_PortTrafficPolicy,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import {
  ClientTLSSettings_TLSmode as TlsMode,
  LoadBalancerSettings_SimpleLB as Simple,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import type {
  HTTPMatchRequest,
  HTTPRoute,
  StringMatch,
  VirtualService,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { isPresenceMatch } from "../routing/presence-match.js";
import { languagesWithout } from "./grpc-client.js";

/** A field of an object that proxyless gRPC does not apply, or not as proxies do. */
export interface GrpcLimit {
  /** From the root of the object, such as `["spec", "http", 0, "rewrite"]`. */
  readonly path: readonly (string | number)[];
  /** The behavior of gRPC, as a sentence that begins with it. */
  readonly message: string;
}

/** Words of `retryOn` that gRPC retries (gRFC A44). */
const retried: ReadonlySet<string> = new Set([
  "cancelled",
  "deadline-exceeded",
  "internal",
  "resource-exhausted",
  "unavailable",
]);

/**
 * The most values of `withoutHeaders` in a match that routes for gRPC express: each doubles the routes, since calls
 * without the header need one of their own.
 */
export const grpcMaxInvertedHeaders = 4;

/** Returns what gRPC does not apply of a VirtualService. Its counterpart is the generator's `grpc/accepted-*`. */
export function virtualServiceLimits({ http }: VirtualService): readonly GrpcLimit[] {
  return http.flatMap((route, i) => [
    ...route.match.flatMap((match, j) => matchLimits(match, ["spec", "http", i, "match", j])),
    ...routeLimits(route, ["spec", "http", i]),
  ]);
}

function matchLimits(match: HTTPMatchRequest, at: GrpcLimit["path"]): readonly GrpcLimit[] {
  const isRegex = (field: "authority" | "method" | "scheme"): boolean => match[field]?.matchType.case === "regex";
  return [
    ...limitIf(
      Object.keys(match.queryParams).length > 0,
      [...at, "queryParams"],
      "has no query parameters, so that no call matches",
    ),
    ...limitIf(
      Object.entries(match.withoutHeaders).filter(([name, value]) => isInvertedValue(name, value)).length >
        grpcMaxInvertedHeaders,
      [...at, "withoutHeaders"],
      `excludes values of at most ${grpcMaxInvertedHeaders} headers, so that no call matches`,
    ),
    ...(["authority", "method", "scheme"] as const).flatMap((field) =>
      limitIf(
        isRegex(field),
        [...at, field],
        `does not match the ${field} by a regular expression, so that no call matches`,
      ),
    ),
    ...limitIf(
      match.authority?.matchType.case === "exact" && !/:\d+$/.test(match.authority.matchType.value),
      [...at, "authority"],
      "compares the authority with its port, as the target has it, so that only targets without a port match",
    ),
  ];
}

/** Reports whether an entry of `withoutHeaders` excludes a value of metadata, rather than the header or a claim. */
function isInvertedValue(name: string, value: StringMatch): boolean {
  return !name.startsWith(":") && !name.startsWith("@") && !isPresenceMatch(value);
}

function routeLimits(route: HTTPRoute, at: GrpcLimit["path"]): readonly GrpcLimit[] {
  const { retries } = route;
  const words = (retries?.retryOn ?? "").split(",").map((word) => word.trim());
  const hasHeaders = route.headers !== undefined || route.route.some(({ headers }) => headers !== undefined);
  return [
    ...limitIf(route.rewrite !== undefined, [...at, "rewrite"], "does not rewrite calls"),
    ...limitIf(route.mirror !== undefined, [...at, "mirror"], "does not mirror calls"),
    ...limitIf(route.mirrors.length > 0, [...at, "mirrors"], "does not mirror calls"),
    ...limitIf(hasHeaders, [...at, route.headers === undefined ? "route" : "headers"], "does not change headers"),
    ...limitIf(route.corsPolicy !== undefined, [...at, "corsPolicy"], "has no CORS"),
    ...limitIf(
      route.redirect !== undefined,
      [...at, "redirect"],
      "does not follow redirects: calls fail with the status",
    ),
    ...limitIf(
      route.directResponse?.body !== undefined,
      [...at, "directResponse", "body"],
      "sends the status without the body",
    ),
    ...limitIf(
      retries?.perTryTimeout !== undefined,
      [...at, "retries", "perTryTimeout"],
      "does not limit single attempts",
    ),
    ...limitIf(
      retries !== undefined && retries.retryOn !== "" && !words.some((word) => retried.has(word)),
      [...at, "retries", "retryOn"],
      `retries none of these conditions, but ${[...retried].join(", ")}`,
    ),
  ];
}

/** Returns what gRPC does not apply of a DestinationRule. Its counterpart is the generator's `grpc/cluster-policy`. */
export function destinationRuleLimits({ trafficPolicy, subsets }: DestinationRule): readonly GrpcLimit[] {
  return [
    ...policyLimits(trafficPolicy, ["spec", "trafficPolicy"]),
    ...subsets.flatMap((subset, i) => policyLimits(subset.trafficPolicy, ["spec", "subsets", i, "trafficPolicy"])),
  ];
}

function policyLimits(policy: TrafficPolicy | undefined, at: GrpcLimit["path"]): readonly GrpcLimit[] {
  if (policy === undefined) return [];
  return [
    ...settingsLimits(policy, at),
    ...policy.portLevelSettings.flatMap((settings, i) => settingsLimits(settings, [...at, "portLevelSettings", i])),
    ...limitIf(policy.tunnel !== undefined, [...at, "tunnel"], "opens no tunnels"),
    ...limitIf(policy.proxyProtocol !== undefined, [...at, "proxyProtocol"], "has no PROXY protocol"),
  ];
}

function settingsLimits(
  { loadBalancer, outlierDetection, connectionPool, tls }: TrafficPolicy | TrafficPolicy_PortTrafficPolicy,
  at: GrpcLimit["path"],
): readonly GrpcLimit[] {
  const hasOtherTls = tls?.mode === TlsMode.SIMPLE || tls?.mode === TlsMode.MUTUAL;
  return [
    ...balancerLimits(loadBalancer, [...at, "loadBalancer"]),
    ...limitIf(
      outlierDetection !== undefined && (outlierDetection.failurePercentageThreshold ?? 0) === 0,
      [...at, "outlierDetection"],
      "detects outliers by failurePercentageThreshold only, which is not set",
    ),
    ...limitIf(
      connectionPool !== undefined && (connectionPool.http?.http2MaxRequests ?? 0) === 0,
      [...at, "connectionPool"],
      "has no limit of a connection pool but http2MaxRequests",
    ),
    ...limitIf(hasOtherTls, [...at, "tls"], "verifies servers by the mesh's root certificates only"),
  ];
}

function balancerLimits(settings: LoadBalancerSettings | undefined, at: GrpcLimit["path"]): readonly GrpcLimit[] {
  const chosen = settings?.lbPolicy;
  const warmup = limitIf(
    settings?.warmup !== undefined || settings?.warmupDurationSecs !== undefined,
    [...at, "warmup"],
    "does not warm endpoints up",
  );
  if (chosen?.case === "consistentHash") {
    const { hashKey, hashAlgorithm } = chosen.value;
    const isHashed = hashKey.case === "httpHeaderName" || hashKey.case === "useSourceIp";
    return [
      ...warmup,
      {
        path: [...at, "consistentHash"],
        message: isHashed
          ? without("consistentHash")
          : "hashes by headers and useSourceIp only, and calls at random here",
      },
      ...limitIf(
        hashAlgorithm.case === "maglev",
        [...at, "consistentHash", "maglev"],
        "has no Maglev and uses a ring hash",
      ),
    ];
  }
  if (chosen?.case === "backendUtilization")
    return [...warmup, { path: [...at, "backendUtilization"], message: without("backendUtilization") }];
  if (chosen?.case !== "simple") return warmup;
  const isOther = chosen.value === Simple.RANDOM || chosen.value === Simple.PASSTHROUGH;
  const isLeast = chosen.value === Simple.LEAST_REQUEST || chosen.value === Simple.LEAST_CONN;
  return [
    ...warmup,
    ...limitIf(isOther, [...at, "simple"], `has no ${Simple[chosen.value]} and uses ROUND_ROBIN`),
    ...limitIf(isLeast, [...at, "simple"], without("leastRequest")),
  ];
}

function without(feature: "leastRequest" | "backendUtilization" | "consistentHash"): string {
  const languages = languagesWithout(feature);
  const verb = languages.length === 1 && !languages[0]?.includes(" and ") ? "uses" : "use";
  return `has no such load balancer in ${languages.join(" and ")}, which ${verb} ROUND_ROBIN`;
}

function limitIf(condition: boolean, path: GrpcLimit["path"], message: string): readonly GrpcLimit[] {
  return condition ? [{ path, message }] : [];
}
