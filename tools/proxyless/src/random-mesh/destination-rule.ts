import type { Random } from "@istiod/bench";
import type { MeshObject } from "./mesh-object.js";

interface RuleOptions {
  readonly name: string;
  readonly namespace: string;
  readonly host: string;
}

/** Returns a DestinationRule with subsets and random policies. */
export function randomDestinationRule(random: Random, { name, namespace, host }: RuleOptions): MeshObject {
  const policy = (): object => ({
    ...randomSettings(random),
    ...(random.chance(0.3) && {
      portLevelSettings: [{ port: { number: random.pick([7070, 80]) }, ...randomSettings(random) }],
    }),
  });
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "DestinationRule",
    metadata: { name, namespace },
    spec: {
      host,
      ...(random.chance(0.7) && { trafficPolicy: policy() }),
      subsets: ["v1", "v2"].map((version) => ({
        name: version,
        labels: { version },
        ...(random.chance(0.3) && { trafficPolicy: policy() }),
      })),
      ...(random.chance(0.3) && { exportTo: ["."] }),
    },
  };
}

function randomSettings(random: Random): object {
  const settings = {
    ...(random.chance(0.6) && { loadBalancer: randomBalancer(random) }),
    ...(random.chance(0.3) && { connectionPool: randomPool(random) }),
    ...(random.chance(0.4) && { outlierDetection: randomOutlierDetection(random) }),
    ...(random.chance(0.3) && { tls: randomTls(random) }),
  };
  return Object.keys(settings).length === 0 ? { loadBalancer: { simple: "ROUND_ROBIN" } } : settings;
}

function randomBalancer(random: Random): object {
  const hash = (): object => ({
    ...random.pick<object>([
      { httpHeaderName: "user" },
      { useSourceIp: true },
      { httpCookie: { name: "c", ttl: "0s" } },
      { httpQueryParameterName: "q" },
    ]),
    ...random.pick<object>([{}, {}, { ringHash: { minimumRingSize: 100_000 } }, { maglev: { tableSize: 65_537 } }]),
  });
  const simple = random.pick(["ROUND_ROBIN", "LEAST_REQUEST", "LEAST_CONN", "RANDOM", "PASSTHROUGH", "UNSPECIFIED"]);
  const warmup = random.chance(0.2) && (simple === "ROUND_ROBIN" || simple.startsWith("LEAST"));
  const locality = random.pick<object>([
    { distribute: [{ from: "r1/*", to: { "r1/*": 80, "r2/*": 20 } }] },
    { failover: [{ from: "r1", to: "r2" }] },
    { failoverPriority: ["version", "topology.kubernetes.io/region"] },
    { enabled: false },
  ]);
  return {
    ...(random.chance(0.4) ? { consistentHash: hash() } : { simple, ...(warmup && { warmup: { duration: "10s" } }) }),
    ...(random.chance(0.5) && { localityLbSetting: locality }),
  };
}

function randomPool(random: Random): object {
  return {
    ...(random.chance(0.5) && { tcp: { maxConnections: 1 + random.below(100), connectTimeout: "2s" } }),
    http: {
      ...(random.chance(0.5) && { http2MaxRequests: 1 + random.below(1000) }),
      ...(random.chance(0.3) && { maxRetries: 3, idleTimeout: "5s" }),
      h2UpgradePolicy: random.pick(["DEFAULT", "UPGRADE"]),
    },
  };
}

function randomOutlierDetection(random: Random): object {
  return {
    ...(random.chance(0.4) && { consecutive5xxErrors: random.below(5) }),
    ...(random.chance(0.3) && { consecutiveGatewayErrors: 3 }),
    ...(random.chance(0.4) && { failurePercentageThreshold: random.pick([0, 1, 50, 100]) }),
    ...(random.chance(0.4) && { interval: random.pick(["1s", "0.5s", "10m"]), baseEjectionTime: "3s" }),
    ...(random.chance(0.4) && { maxEjectionPercent: random.pick([0, 10, 100]) }),
    ...(random.chance(0.3) && { minHealthPercent: random.pick([0, 50]) }),
  };
}

function randomTls(random: Random): object {
  const mode = random.pick(["ISTIO_MUTUAL", "ISTIO_MUTUAL", "DISABLE", "SIMPLE", "MUTUAL"]);
  const files = { clientCertificate: "/c.pem", privateKey: "/k.pem", caCertificates: "/r.pem" };
  return {
    mode,
    ...(mode === "MUTUAL" && files),
    ...(random.chance(0.3) && mode !== "DISABLE" && { sni: "a.example.com" }),
    ...(random.chance(0.3) && { subjectAltNames: ["spiffe://cluster.local/ns/test/sa/a"] }),
  };
}
