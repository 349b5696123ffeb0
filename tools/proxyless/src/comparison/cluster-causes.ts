import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "@bufbuild/protobuf";
import { omit, type Pair } from "@istiod/parity";
import type { CauseContext, GrpcCause } from "./cause.js";
import { clusterPolicy, type Policy } from "./cluster-policy.js";

/** A cause that removes fields of both clusters if each has exactly the values that the DestinationRule leads to. */
function byPolicy(name: string, expected: (policy: Policy) => readonly [object, object] | undefined): GrpcCause {
  return {
    name,
    type: "cds",
    without: (pair, { name: cluster, objects }) => {
      const fields = expected(clusterPolicy(objects, cluster));
      if (fields === undefined || !pair.every((each, side) => each && hasFields(each, fields[side] ?? {}))) return pair;
      const names = new Set(fields.flatMap((each) => Object.keys(each)));
      return pair.map((each) => omitOwn(each, names)) as unknown as Pair;
    },
  };
}

/** Reports whether a cluster has fields with these values; undefined: none. */
const hasFields = (cluster: JsonObject, fields: object): boolean =>
  Object.entries(fields).every(([key, value]) => isDeepStrictEqual(cluster[key], value));

const omitOwn = (cluster: JsonObject | undefined, names: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(Object.entries(cluster ?? {}).filter(([key]) => !names.has(key)));

export const clusterCauses: readonly GrpcCause[] = [
  byPolicy("a hash ring in place of Maglev", ({ loadBalancer }) =>
    loadBalancer?.consistentHash?.maglev === undefined
      ? undefined
      : [
          {
            lbPolicy: "MAGLEV",
            maglevLbConfig: {
              tableSize: (loadBalancer.consistentHash.maglev as { tableSize: number }).tableSize.toString(),
            },
            ringHashLbConfig: undefined,
          },
          { lbPolicy: "RING_HASH", ringHashLbConfig: { minimumRingSize: "1024" }, maglevLbConfig: undefined },
        ],
  ),
  byPolicy("least request as a list that ends with round robin", ({ loadBalancer: { simple } = {} }) =>
    simple === "LEAST_REQUEST" || simple === "LEAST_CONN"
      ? [
          { lbPolicy: simple === "LEAST_REQUEST" ? simple : undefined, loadBalancingPolicy: undefined },
          { lbPolicy: undefined, loadBalancingPolicy: leastRequest },
        ]
      : undefined,
  ),
  byPolicy("outlier detection by `failurePercentageThreshold`", ({ outlierDetection }) =>
    (outlierDetection?.failurePercentageThreshold ?? 0) === 0
      ? undefined
      : [{ outlierDetection: undefined }, { outlierDetection: expectedOutliers(outlierDetection ?? {}) }],
  ),
  byPolicy("TLS of the modes `SIMPLE` and `MUTUAL`", ({ tls }) =>
    tls?.mode === "SIMPLE" || tls?.mode === "MUTUAL"
      ? [
          { transportSocket: undefined },
          { transportSocket: expectedTls(tls.subjectAltNames ?? [], tls.mode === "MUTUAL") },
        ]
      : undefined,
  ),
  { name: "`subjectAltNames` of a DestinationRule", type: "cds", without: withoutDeclaredNames },
  { name: "a hostname of a ServiceEntry is resolved by the client", type: "cds", without: withoutDns },
];

const extension = (name: string, message: string, fields: object = {}): object => ({
  typedExtensionConfig: {
    name: `envoy.load_balancing_policies.${name}`,
    typedConfig: {
      "@type": `type.googleapis.com/envoy.extensions.load_balancing_policies.${name}.v3.${message}`,
      ...fields,
    },
  },
});

const leastRequest = {
  policies: [
    extension("wrr_locality", "WrrLocality", {
      endpointPickingPolicy: {
        policies: [extension("least_request", "LeastRequest"), extension("round_robin", "RoundRobin")],
      },
    }),
  ],
};

function expectedOutliers(declared: NonNullable<Policy["outlierDetection"]>): object {
  const { failurePercentageThreshold, interval, baseEjectionTime, maxEjectionPercent = 0 } = declared;
  return {
    enforcingSuccessRate: 0,
    failurePercentageThreshold,
    enforcingFailurePercentage: 100,
    ...(interval !== undefined && { interval: canonicalDuration(interval) }),
    ...(baseEjectionTime !== undefined && { baseEjectionTime: canonicalDuration(baseEjectionTime) }),
    ...(maxEjectionPercent > 0 && { maxEjectionPercent }),
  };
}

/** Returns a duration in seconds or minutes as protobuf writes it in JSON: `600s`, `0.500s`. */
function canonicalDuration(text: string): string {
  const seconds = Number.parseFloat(text) * (text.endsWith("m") ? 60 : 1);
  return `${Number.isInteger(seconds) ? seconds : seconds.toFixed(3)}s`;
}

/** Returns the transport socket that verifies names by the mesh's roots, with or without the mesh's certificate. */
function expectedTls(names: readonly string[], hasCertificate: boolean): object {
  const own = { instanceName: "default", certificateName: "default" };
  const roots = { instanceName: "default", certificateName: "ROOTCA" };
  return {
    name: "envoy.transport_sockets.tls",
    typedConfig: {
      "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
      commonTlsContext: {
        ...(hasCertificate && {
          tlsCertificateProviderInstance: own,
          tlsCertificateCertificateProviderInstance: own,
        }),
        combinedValidationContext: {
          validationContextCertificateProviderInstance: roots,
          defaultValidationContext: {
            ...(names.length > 0 && { matchSubjectAltNames: names.map((exact) => ({ exact })) }),
            caCertificateProviderInstance: roots,
          },
        },
      },
    },
  };
}

/** Removes the names that a server's certificate must have, if those here are the rule's. The rest of TLS stays. */
function withoutDeclaredNames([theirs, ours]: Pair, { name, objects }: CauseContext): Pair {
  const { mode, subjectAltNames = [] } = clusterPolicy(objects, name).tls ?? {};
  const isExpected =
    mode === "ISTIO_MUTUAL" &&
    subjectAltNames.length > 0 &&
    isDeepStrictEqual(ours?.["transportSocket"], expectedTls(subjectAltNames, true));
  if (!isExpected || theirs === undefined || ours === undefined) return [theirs, ours];
  const isNames = (key: string): boolean => key === "matchSubjectAltNames";
  return [omit(theirs, isNames), omit(ours, isNames)];
}

interface DnsEntry {
  readonly hosts: readonly string[];
  readonly resolution: string;
  readonly ports: readonly { readonly name: string; readonly number: number; readonly targetPort?: number }[];
  readonly endpoints?: readonly { readonly address: string; readonly ports?: Readonly<Record<string, number>> }[];
}

/** Removes how endpoints are found, if here it is by DNS for the only hostname of a ServiceEntry. */
function withoutDns(pair: Pair, { name, objects }: CauseContext): Pair {
  const [, port, , host = ""] = name.split("|");
  const entries = objects.filter(({ kind }) => kind === "ServiceEntry").map(({ spec }) => spec as DnsEntry);
  const entry = entries.find(({ hosts }) => hosts.includes(host));
  const declared = entry?.ports.find(({ number }) => number === Number(port));
  const { endpoints: all = [], resolution = "" } = entry ?? {};
  const [only = { address: host }, ...others] = all;
  if (declared === undefined || !resolution.startsWith("DNS") || others.length > 0) return pair;
  const portValue = only.ports?.[declared.name] ?? declared.targetPort ?? declared.number;
  const endpoint = { address: { socketAddress: { address: only.address, portValue } } };
  const endpoints = [{ locality: {}, lbEndpoints: [{ endpoint }], loadBalancingWeight: 1 }];
  const theirs = {
    type: "EDS",
    edsClusterConfig: { edsConfig: { ads: {} }, serviceName: name },
    loadAssignment: undefined,
  };
  const ours = {
    type: "LOGICAL_DNS",
    loadAssignment: { clusterName: name, endpoints },
    edsClusterConfig: undefined,
  };
  const sides = [theirs, ours];
  if (!pair.every((each, side) => each && hasFields(each, sides[side] ?? {}))) return pair;
  const names = new Set(Object.keys(ours));
  return [omitOwn(pair[0], names), omitOwn(pair[1], names)];
}
