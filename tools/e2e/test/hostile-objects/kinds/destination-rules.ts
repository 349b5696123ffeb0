import fc from "fast-check";
import { networking, object } from "./manifest.js";
import {
  durations,
  from,
  headerNames,
  hosts,
  labels,
  list,
  numbers,
  percents,
  ports,
  some,
  subset,
  texts,
} from "../values.js";

const tls = some({
  mode: from("DISABLE", "SIMPLE", "MUTUAL", "ISTIO_MUTUAL"),
  clientCertificate: from("/etc/certs/cert.pem", "a~b", "x:y"),
  privateKey: from("/etc/certs/key.pem", "~"),
  caCertificates: from("/etc/certs/ca.pem", "system"),
  credentialName: from("c", "kubernetes://other/c", "configmap://c", "builtin://", "a b", "sds://x", "file:///x"),
  subjectAltNames: list(texts),
  sni: texts,
  insecureSkipVerify: fc.boolean(),
});
const trafficPolicy = some({
  connectionPool: some({
    tcp: some({
      maxConnections: numbers,
      connectTimeout: durations,
      idleTimeout: durations,
      maxConnectionDuration: durations,
      tcpKeepalive: some({ probes: numbers, time: durations, interval: durations }),
    }),
    http: some({
      http1MaxPendingRequests: numbers,
      http2MaxRequests: numbers,
      maxRequestsPerConnection: numbers,
      maxRetries: numbers,
      idleTimeout: durations,
      h2UpgradePolicy: from("UPGRADE", "DO_NOT_UPGRADE"),
      maxConcurrentStreams: numbers,
      useClientProtocol: fc.boolean(),
    }),
  }),
  loadBalancer: some({
    simple: from("ROUND_ROBIN", "LEAST_REQUEST", "RANDOM", "PASSTHROUGH"),
    consistentHash: some({
      httpHeaderName: headerNames,
      httpCookie: some({ name: texts, path: texts, ttl: durations }),
      useSourceIp: fc.boolean(),
      httpQueryParameterName: texts,
      minimumRingSize: from(0, 1024, 8_388_609, 4_294_967_295),
      ringHash: some({ minimumRingSize: from(0, 1024, 8_388_609, 9_000_000_000) }),
      maglev: some({ tableSize: from(0, 1, 2, 65_537, 5_000_011, 65_536) }),
    }),
    warmup: some({ duration: durations, minimumPercent: percents, aggression: percents }),
    localityLbSetting: some({
      enabled: fc.boolean(),
      distribute: list(
        some({
          from: from("r1/z1/*", "*", "r1"),
          to: fc.dictionary(from("r1/*", "r2/*", "*"), from(0, 50, 100), { maxKeys: 2 }),
        }),
      ),
      failoverPriority: list(texts),
    }),
  }),
  outlierDetection: some({
    consecutive5xxErrors: numbers,
    consecutiveGatewayErrors: numbers,
    interval: durations,
    baseEjectionTime: durations,
    maxEjectionPercent: numbers,
    minHealthPercent: numbers,
    splitExternalLocalOriginErrors: fc.boolean(),
    consecutiveLocalOriginFailures: numbers,
  }),
  tls,
  tunnel: some({ protocol: from("CONNECT", "POST", "x"), targetHost: hosts, targetPort: ports }, [
    "targetHost",
    "targetPort",
  ]),
  proxyProtocol: some({ version: from("V1", "V2") }),
  retryBudget: some({ percent: percents, minRetryConcurrency: numbers }),
});
export const destinationRule = object(
  networking,
  "DestinationRule",
  some(
    {
      host: hosts,
      trafficPolicy,
      subsets: list(some({ name: subset, labels, trafficPolicy }, ["name"]), 3),
      exportTo: list(from("*", "."), 1),
    },
    ["host"],
  ),
);
