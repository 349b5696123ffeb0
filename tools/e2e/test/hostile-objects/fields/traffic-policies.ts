import type { Manifest } from "../kinds/manifest.js";
import { type FieldTable, istioObject, type Position } from "./field-table.js";

const host = "cart.shop.svc.cluster.local";
const labels = { version: "v1" };
const rule = (spec: object, namespace?: string): readonly Manifest[] => [
  istioObject("DestinationRule", { host, ...spec }, namespace === undefined ? {} : { namespace }),
];

/** A route to the subset, so that its hash policy is used. */
const subsetRoute = istioObject("VirtualService", {
  hosts: [host],
  http: [{ route: [{ destination: { host, subset: "v1" } }] }],
});

/** Positions of a policy for connections. */
const everywhere: Readonly<Record<string, Position>> = {
  host: { objects: (trafficPolicy) => rule({ trafficPolicy }), path: "trafficPolicy" },
  "host, from the root namespace": {
    objects: (trafficPolicy) => rule({ trafficPolicy }, "istio-system"),
    path: "trafficPolicy",
  },
  port: {
    objects: (settings) => rule({ trafficPolicy: { portLevelSettings: [{ port: { number: 80 }, ...settings }] } }),
    path: "trafficPolicy.portLevelSettings.0",
  },
  subset: {
    objects: (trafficPolicy) => [...rule({ subsets: [{ name: "v1", labels, trafficPolicy }] }), subsetRoute],
    path: "subsets.0.trafficPolicy",
  },
  "port of a subset": {
    objects: (settings) => [
      ...rule({
        subsets: [
          { name: "v1", labels, trafficPolicy: { portLevelSettings: [{ port: { number: 80 }, ...settings }] } },
        ],
      }),
      subsetRoute,
    ],
    path: "subsets.0.trafficPolicy.portLevelSettings.0",
  },
};

/** Positions of what ports do not have. */
const wholeHost = Object.fromEntries(Object.entries(everywhere).filter(([where]) => !where.startsWith("port")));

const long = (length: number): string => "x".repeat(length);
const control = ["a\nb", "a\0b", "a\rb"];
const times = {
  accepted: ["0.001s", "1s", "9223372035s"],
  refused: ["9223372036s"],
  refusedByApi: ["0s", "-1s", "0.0015s"],
};

export const trafficPolicies: readonly FieldTable[] = [
  {
    part: "loadBalancer",
    positions: everywhere,
    rows: [
      {
        field: "loadBalancer.consistentHash.minimumRingSize",
        beside: { loadBalancer: { consistentHash: { useSourceIp: true } } },
        accepted: [0, 1, 1024, 8_388_608, "8388608"],
        refused: [8_388_609, 4_294_967_296, "9007199254740993"],
      },
      {
        field: "loadBalancer.consistentHash.ringHash.minimumRingSize",
        beside: { loadBalancer: { consistentHash: { useSourceIp: true } } },
        accepted: [0, 1, 1024, 8_388_608, "8388608"],
        refused: [8_388_610, 4_294_967_297, "18446744073709551615"],
      },
      {
        field: "loadBalancer.consistentHash.maglev.tableSize",
        beside: { loadBalancer: { consistentHash: { useSourceIp: true } } },
        accepted: [2, 3, 5, 65_537, 4_999_999],
        refused: [],
        refusedByApi: [
          0,
          1,
          4,
          6,
          9,
          25,
          49,
          65_536,
          65_535,
          121,
          4_999_997,
          5_000_011,
          5_000_012,
          5_000_077,
          "4294967311",
          "18446744073709551557",
        ],
      },
      {
        field: "loadBalancer.consistentHash.httpHeaderName",
        accepted: ["x-a", "X-A", ":path", ":authority", "host", long(1000)],
        refused: ["", ...control],
        refusedByApi: [],
      },
      {
        field: "loadBalancer.consistentHash.httpQueryParameterName",
        accepted: ["a", "a b", "é", long(2000)],
        refused: [""],
        refusedByApi: [],
      },
      {
        field: "loadBalancer.consistentHash.httpCookie.name",
        accepted: ["a", "a-b", "a b", "é", ...control],
        refused: [""],
      },
      {
        field: "loadBalancer.consistentHash.httpCookie.path",
        beside: { loadBalancer: { consistentHash: { httpCookie: { name: "a" } } } },
        accepted: ["", "/", "/a b", "é", ...control],
      },
      {
        field: "loadBalancer.consistentHash.httpCookie.ttl",
        beside: { loadBalancer: { consistentHash: { httpCookie: { name: "a" } } } },
        accepted: ["0s", "1s", "0.5s", "9223372035s"],
        refused: ["-1s", "9223372036s"],
      },
      {
        field: "loadBalancer.consistentHash.httpCookie.attributes.0.name",
        beside: { loadBalancer: { consistentHash: { httpCookie: { name: "a" } } } },
        accepted: ["SameSite", "a b", "é"],
        refused: ["", ...control, long(16_385)],
      },
      {
        field: "loadBalancer.consistentHash.httpCookie.attributes.0.value",
        beside: { loadBalancer: { consistentHash: { httpCookie: { name: "a", attributes: [{ name: "a" }] } } } },
        accepted: ["", "Strict", "a b", "é", long(16_384)],
        refused: [...control, long(16_385)],
      },
      {
        field: "loadBalancer.warmup.duration",
        beside: { loadBalancer: { simple: "ROUND_ROBIN" } },
        accepted: ["0.001s", "1s", "3600s", "9223372035s"],
        refused: ["9223372036s"],
        refusedByApi: ["0s", "-1s", "0.0015s"],
      },
      {
        field: "loadBalancer.warmup.aggression",
        beside: { loadBalancer: { simple: "ROUND_ROBIN", warmup: { duration: "1s" } } },
        accepted: [0.5, 1, 1.5, 1e30, "1e2"],
        refusedByApi: [0, -1, "NaN", "Infinity"],
      },
      {
        field: "loadBalancer.warmup.minimumPercent",
        beside: { loadBalancer: { simple: "LEAST_REQUEST", warmup: { duration: "1s" } } },
        accepted: [0, 0.5, 1, 100],
        refused: [100.1, 101, "Infinity", -1],
        refusedByApi: ["NaN"],
      },
      {
        field: "loadBalancer.warmupDurationSecs",
        beside: { loadBalancer: { simple: "ROUND_ROBIN" } },
        accepted: ["1s", "0.5s", "9223372035s"],
        refused: ["-1s", "9223372036s"],
        refusedByApi: ["0s"],
      },
      {
        field: "loadBalancer.localityLbSetting.distribute.0.to.r1/*",
        beside: { loadBalancer: { localityLbSetting: { distribute: [{ from: "*" }] } } },
        faultAt: "loadBalancer.localityLbSetting.distribute.0.to",
        accepted: [100, "100"],
        refused: [],
        refusedByApi: [0, 99, 101, 4_294_967_295, -1],
      },
    ],
  },
  {
    part: "connectionPool",
    positions: everywhere,
    rows: [
      { field: "connectionPool.tcp.connectTimeout", ...times },
      { field: "connectionPool.tcp.maxConnectionDuration", ...times },
      {
        field: "connectionPool.tcp.idleTimeout",
        accepted: ["0s", "0.001s", "1s", "9223372035s"],
        refused: ["9223372036s"],
        refusedByApi: ["-1s", "1.0015s"],
      },
      {
        field: "connectionPool.tcp.maxConnections",
        accepted: [0, 1, 2_147_483_647],
        refusedByApi: [-1, 2_147_483_648],
      },
      {
        field: "connectionPool.tcp.tcpKeepalive.probes",
        accepted: [0, 1, 32_767, 4_294_967_295],
        refusedByApi: [-1, 4_294_967_296],
      },
      {
        field: "connectionPool.tcp.tcpKeepalive.time",
        accepted: ["1s", "4294967295s"],
        refusedByApi: ["0s", "-1s", "9223372036s"],
      },
      {
        field: "connectionPool.tcp.tcpKeepalive.interval",
        accepted: ["1s", "4294967295s"],
        refusedByApi: ["0s", "-1s", "9223372036s"],
      },
      { field: "connectionPool.http.http1MaxPendingRequests", accepted: [0, 1, 2_147_483_647], refusedByApi: [-1] },
      { field: "connectionPool.http.http2MaxRequests", accepted: [0, 1, 2_147_483_647], refusedByApi: [-1] },
      { field: "connectionPool.http.maxRequestsPerConnection", accepted: [0, 1, 2_147_483_647], refusedByApi: [-1] },
      { field: "connectionPool.http.maxRetries", accepted: [0, 1, 2_147_483_647], refusedByApi: [-1] },
      { field: "connectionPool.http.idleTimeout", ...times, refused: [], refusedByApi: ["9223372036s", "0s", "-1s"] },
      {
        field: "connectionPool.http.maxConcurrentStreams",
        beside: { connectionPool: { http: { h2UpgradePolicy: "UPGRADE" } } },
        accepted: [0, 1, 2_147_483_647],
        refusedByApi: [-1],
      },
      {
        field: "connectionPool.http.http2KeepAlive.interval",
        beside: { connectionPool: { http: { h2UpgradePolicy: "UPGRADE", http2KeepAlive: { timeout: "1s" } } } },
        ...times,
      },
      {
        field: "connectionPool.http.http2KeepAlive.timeout",
        beside: { connectionPool: { http: { h2UpgradePolicy: "UPGRADE", http2KeepAlive: { interval: "1s" } } } },
        ...times,
      },
    ],
  },
  {
    part: "outlierDetection",
    positions: everywhere,
    rows: [
      { field: "outlierDetection.interval", ...times },
      { field: "outlierDetection.baseEjectionTime", ...times },
      {
        field: "outlierDetection.consecutive5xxErrors",
        accepted: [0, 1, 4_294_967_295],
        refusedByApi: [-1, 4_294_967_296],
      },
      { field: "outlierDetection.consecutiveGatewayErrors", accepted: [0, 1, 4_294_967_295], refusedByApi: [-1] },
      {
        field: "outlierDetection.consecutiveLocalOriginFailures",
        beside: { outlierDetection: { splitExternalLocalOriginErrors: true } },
        accepted: [0, 1, 4_294_967_295],
        refusedByApi: [-1],
      },
      { field: "outlierDetection.maxEjectionPercent", accepted: [0, 1, 100], refused: [101], refusedByApi: [-1] },
      { field: "outlierDetection.minHealthPercent", accepted: [0, 1, 100], refused: [101], refusedByApi: [-1] },
      {
        field: "outlierDetection.outlierDetectionHttpErrorCodes.0",
        accepted: [100, 503, 599],
        refusedByApi: [0, 99, 600],
      },
    ],
  },
  {
    part: "tls",
    positions: everywhere,
    rows: [
      {
        field: "tls.sni",
        beside: { tls: { mode: "SIMPLE" } },
        accepted: ["", "a.example.com", "*", "a\nb", "é", long(255)],
        refused: [long(256), "é".repeat(128), "a\0b", "\0", `${long(254)}\0`],
      },
      {
        field: "tls.subjectAltNames.0",
        beside: { tls: { mode: "SIMPLE" } },
        accepted: ["a.example.com", "spiffe://a/b", "", "é", long(20_000)],
      },
      {
        field: "tls.credentialName",
        beside: { tls: { mode: "SIMPLE" } },
        accepted: ["c", "kubernetes://c", "sds://c", "a b", long(253)],
        refusedByApi: [long(17_000)],
      },
      {
        field: "tls.clientCertificate",
        beside: { tls: { mode: "MUTUAL", privateKey: "/etc/key.pem" } },
        accepted: ["/etc/cert.pem"],
        refusedByApi: ["", long(17_000)],
      },
      {
        field: "tls.privateKey",
        beside: { tls: { mode: "MUTUAL", clientCertificate: "/etc/cert.pem" } },
        accepted: ["/etc/key.pem"],
        refusedByApi: ["", long(17_000)],
      },
      {
        field: "tls.caCertificates",
        beside: { tls: { mode: "SIMPLE" } },
        accepted: ["", "system", "/etc/ca.pem"],
        refusedByApi: [long(17_000)],
      },
      {
        field: "tls.caCrl",
        beside: { tls: { mode: "SIMPLE", caCertificates: "/etc/ca.pem" } },
        accepted: ["", "/dev/null"],
        refusedByApi: [long(17_000)],
      },
    ],
  },
  {
    part: "traffic policy of a host",
    positions: wholeHost,
    rows: [
      { field: "retryBudget.percent", accepted: [0, 0.5, 100], refused: [100.1, -1], refusedByApi: ["NaN"] },
      { field: "retryBudget.minRetryConcurrency", accepted: [0, 1, 4_294_967_295], refusedByApi: [-1] },
      {
        field: "retryBudget.budgetInterval",
        beside: { retryBudget: { percent: 1 } },
        accepted: ["0.001s", "1s", "9223372035s"],
        refused: ["-1s", "9223372036s"],
        refusedByApi: [],
      },
      {
        field: "tunnel.targetHost",
        beside: { tunnel: { targetPort: 80 } },
        accepted: ["a.example.com", "192.0.2.1", "2001:db8::1"],
        refusedByApi: ["", "a\nb", long(256)],
      },
      {
        field: "tunnel.targetPort",
        beside: { tunnel: { targetHost: "a.example.com" } },
        accepted: [1, 65_535],
        refusedByApi: [0, 65_536],
      },
      { field: "proxyProtocol.version", accepted: ["V1", "V2", 0, 1], refusedByApi: ["V3"] },
    ],
  },
];
