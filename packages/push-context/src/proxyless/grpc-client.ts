import { fact } from "@istiod/incremental";
import type { Proxy } from "../proxy/proxy.js";

/** An implementation of gRPC. `c-core` is that of C++, Python, Ruby and PHP. */
export type GrpcLanguage = "c-core" | "java" | "go" | "node";

/** Names of the implementations, for messages. */
export const grpcLanguageNames: Readonly<Record<GrpcLanguage, string>> = {
  "c-core": "C++ and Python",
  java: "Java",
  go: "Go",
  node: "Node",
};

/**
 * Features that not every gRPC library has, with the first version of each implementation that has them. Everything
 * else that is generated is understood since 1.42 (Node: 1.10).
 *
 * Sources: https://github.com/grpc/grpc/blob/master/doc/grpc_xds_features.md, and runs of the versions in
 * docs/proxyless-grpc.md.
 */
export const grpcFeatures = {
  /** Endpoints with the fewest outstanding calls are preferred (gRFC A48). */
  leastRequest: { java: [1, 48], go: [1, 60] },
  /**
   * Endpoints are chosen by a hash (A42). Node's ring is built after an update has returned; if endpoints were removed
   * meanwhile, the process ends by an uncaught error (grpc-js-xds 1.14.1).
   */
  consistentHash: { "c-core": [1, 42], java: [1, 42], go: [1, 42] },
  /**
   * A domain of a virtual host may end with a dot. A channel of Java fails for good if it reaches one before its own
   * (grpc-java 1.85.1).
   */
  absoluteDomains: { "c-core": [1, 42], go: [1, 42], node: [1, 10] },
  /** Endpoints are weighted by the load that they report (A58). */
  backendUtilization: { "c-core": [1, 55], java: [1, 54], go: [1, 56] },
  /** Calls of a session stay with an endpoint, by a cookie (A55). Others reject the HTTP filter. */
  statefulSession: { "c-core": [1, 61] },
  /** Authorization by servers (A41). Node refuses to serve unless `GRPC_XDS_EXPERIMENTAL_RBAC=true`. */
  authorization: { "c-core": [1, 51], java: [1, 42], go: [1, 42] },
} as const satisfies Readonly<Record<string, Partial<Record<GrpcLanguage, readonly [major: number, minor: number]>>>>;

export type GrpcFeature = keyof typeof grpcFeatures;

/** A gRPC library, as its node names itself. */
export interface GrpcClient {
  readonly language: GrpcLanguage;
  /** Undefined if the library reports none that can be read. */
  readonly version?: readonly [major: number, minor: number];
}

/** Names by which libraries report themselves, by their beginnings. */
const userAgents: readonly (readonly [prefix: string, language: GrpcLanguage])[] = [
  ["gRPC C-core", "c-core"],
  ["gRPC Java", "java"],
  ["gRPC Go", "go"],
  ["gRPC Node", "node"],
];

/** Returns the library that a user agent names; undefined for an unknown one. */
export function grpcClientOf({ name, version }: NonNullable<Proxy["userAgent"]>): GrpcClient | undefined {
  const language = userAgents.find(([prefix]) => name.startsWith(prefix))?.[1];
  if (language === undefined) return undefined;
  // C-core precedes its version by its own name.
  const [, major, minor] = /(\d+)\.(\d+)/.exec(version.slice(0, 128)) ?? [];
  return major === undefined ? { language } : { language, version: [Number(major), Number(minor)] };
}

/**
 * Reports whether a library has a feature. An unknown library has none: it is sent only what all of them accept. A
 * known one that reports no version is assumed to be recent.
 */
export function supportsFeature(client: GrpcClient | undefined, feature: GrpcFeature): boolean {
  if (client === undefined) return false;
  const since: Partial<Record<GrpcLanguage, readonly [number, number]>> = grpcFeatures[feature];
  const least = since[client.language];
  if (least === undefined) return false;
  const [major, minor] = client.version ?? least;
  return major > least[0] || (major === least[0] && minor >= least[1]);
}

/** Reports whether the client's gRPC library has a feature. */
export const grpcSupports = fact("grpcSupports", ({ userAgent }: Proxy, feature: GrpcFeature) =>
  supportsFeature(userAgent && grpcClientOf(userAgent), feature),
);

/** Reports whether the client's library ends calls before their limit, by up to two seconds. */
export const grpcEndsCallsEarly = fact(
  "grpcEndsCallsEarly",
  ({ userAgent }: Proxy) => (userAgent && grpcClientOf(userAgent))?.language === "c-core",
);

/**
 * Reports whether the client's library needs every resource that it names: it never uses a listener or cluster again
 * that was absent for a moment, and it needs a virtual host for its target.
 */
export const grpcNeedsAllResources = fact(
  "grpcNeedsAllResources",
  ({ userAgent }: Proxy) => (userAgent && grpcClientOf(userAgent))?.language === "node",
);

/** Returns the implementations of which no version has a feature, by name. */
export function languagesWithout(feature: GrpcFeature): readonly string[] {
  return (Object.keys(grpcLanguageNames) as GrpcLanguage[])
    .filter((language) => !(language in grpcFeatures[feature]))
    .map((language) => grpcLanguageNames[language]);
}
