import fc from "fast-check";
import { documents, istio, service, workloads } from "@istiod/config-schema/testing";

/** A file and what it holds from now on; null: it is removed. */
export interface Edit {
  readonly file: string;
  readonly text: string | null;
}

const hosts = ["alpha.shop", "beta.shop", "gamma.bank"] as const;
const pick = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const fqdn = (host: string): string => `${host}.svc.cluster.local`;
const index = (host: string): number => hosts.findIndex((each) => each === host) + 1;

/** An edit of a file that holds what `text` makes, or of its removal, one time in `absence`. */
function editOf(file: string, text: fc.Arbitrary<string>, absence = 5): fc.Arbitrary<Edit> {
  return fc
    .oneof({ weight: absence - 1, arbitrary: text }, { weight: 1, arbitrary: fc.constant(null) })
    .map((found) => ({ file: `random/${file}`, text: found }));
}

const anyHost = pick(...hosts);
const namespaceOf = (host: string): string => host.split(".")[1] ?? "";
const nameOf = (host: string): string => host.split(".")[0] ?? "";

const services = anyHost.chain((host) =>
  editOf(
    `service-${host}.yaml`,
    fc
      .record({
        ip: pick(`10.97.0.${index(host)}`, `10.97.1.${index(host)}`, "None"),
        port: pick(80, 80, 9000),
        portName: pick("http", "http", "tcp", "grpc", "mystery"),
        exportTo: pick("", ".", "*", "~", "shop"),
      })
      .map(({ ip, exportTo, ...port }) =>
        service(host, ip, {
          ...port,
          annotations: exportTo === "" ? "{}" : `{networking.istio.io/exportTo: "${exportTo}"}`,
        }),
      ),
  ),
);

const pods = anyHost.chain((host) =>
  editOf(
    `pods-${host}.yaml`,
    fc
      .record({
        pods: fc.uniqueArray(fc.record({ at: fc.nat(4), ready: pick(true, true, false), sidecar: fc.boolean() }), {
          minLength: 1,
          maxLength: 4,
          selector: ({ at }) => at,
        }),
        portName: pick("http", "tcp"),
      })
      .map(({ pods, portName }) =>
        workloads(
          host,
          pods.map(({ at, ...pod }) => ({ ip: `10.2.${index(host)}.${at}`, version: `v${at}`, ...pod })),
          portName,
        ),
      ),
  ),
);

const destinations = pick(...hosts, "reviews.bookinfo", "ratings.bookinfo", "external.example.com");
const fullName = (host: string): string => (host.endsWith(".com") ? host : fqdn(host));

const virtualServices = fc
  .record({
    host: destinations,
    namespace: pick("shop", "bank", "bookinfo"),
    weight: pick(0, 10, 50, 100),
    to: destinations,
    more: fc.nat(5),
    exportTo: pick("'*'", ".", "shop"),
    slot: fc.nat(2),
  })
  .chain(({ host, namespace, weight, to, more, exportTo, slot }) => {
    const extras = [
      "",
      "\n  timeout: 3s",
      "\n  retries: {attempts: 4, retryOn: 5xx}",
      "\n  fault: {abort: {httpStatus: 503, percentage: {value: 7}}}",
      "\n  match: [{headers: {user: {exact: ann}}}, {uri: {prefix: /x}}]",
      `\n  mirror: {host: ${fullName(to)}}`,
    ];
    const subset = host === "reviews.bookinfo" ? ", subset: v1" : "";
    return editOf(
      `route-${slot}.yaml`,
      fc.constant(
        istio(
          "VirtualService",
          `route-${slot}`,
          namespace,
          `
hosts: [${fullName(host)}]
exportTo: [${exportTo}]
http:
- route:
  - {destination: {host: ${fullName(host)}${subset}}, weight: ${weight}}
  - {destination: {host: ${fullName(to)}}, weight: ${100 - weight}}${extras[more]}`,
        ),
      ),
    );
  });

const destinationRules = fc
  .record({
    host: destinations,
    namespace: pick("shop", "bank", "bookinfo", "istio-system"),
    policy: fc.nat(4),
    subsets: fc.nat(2),
    exportTo: pick("'*'", "."),
    slot: fc.nat(2),
  })
  .chain(({ host, namespace, policy, subsets, exportTo, slot }) => {
    const policies = [
      "{loadBalancer: {simple: LEAST_REQUEST}}",
      "{loadBalancer: {simple: RANDOM}}",
      "{tls: {mode: DISABLE}}",
      "{connectionPool: {http: {http2MaxRequests: 9}}}",
      "{outlierDetection: {consecutive5xxErrors: 3, minHealthPercent: 40}}",
    ];
    const labels = [
      "[]",
      "[{name: v1, labels: {version: v1}}]",
      "[{name: v1, labels: {version: v1}}, {name: v2, labels: {version: v2}}]",
    ];
    return editOf(
      `rule-${slot}.yaml`,
      fc.constant(
        istio(
          "DestinationRule",
          `rule-${slot}`,
          namespace,
          `
host: "${slot === 2 ? `*.${namespaceOf(host) || "shop"}.svc.cluster.local` : fullName(host)}"
exportTo: [${exportTo}]
trafficPolicy: ${policies[policy]}
subsets: ${labels[subsets]}`,
        ),
      ),
    );
  });

const sidecars = fc
  .record({
    slot: pick("default", "alpha"),
    egress: fc.subarray(["./*", "bank/*", "bookinfo/*", "*/gamma.bank.svc.cluster.local", "istio-system/*"], {
      minLength: 1,
    }),
    policy: pick("", "outboundTrafficPolicy: {mode: REGISTRY_ONLY}"),
  })
  .chain(({ slot, egress, policy }) =>
    editOf(
      `sidecar-${slot}.yaml`,
      fc.constant(
        istio(
          "Sidecar",
          slot,
          "shop",
          `
${slot === "default" ? "" : "workloadSelector: {labels: {app: alpha}}"}
${policy}
egress: [{hosts: ${JSON.stringify(egress)}}]`,
        ),
      ),
      3,
    ),
  );

const peerAuthentications = fc
  .record({
    where: pick("istio-system", "shop", "bookinfo", "alpha"),
    mode: pick("STRICT", "PERMISSIVE", "DISABLE", "UNSET"),
    port: fc.boolean(),
  })
  .chain(({ where, mode, port }) => {
    const selected = where === "alpha";
    const portLevel = selected && port ? "portLevelMtls: {8080: {mode: DISABLE}}" : "";
    return editOf(
      `authentication-${where}.yaml`,
      fc.constant(
        istio(
          "PeerAuthentication",
          where,
          selected ? "shop" : where,
          `
${selected ? "selector: {matchLabels: {app: alpha}}" : ""}
mtls: {mode: ${mode}}
${portLevel}`,
        ),
      ),
      3,
    );
  });

const authorizationPolicies = fc
  .record({
    namespace: pick("istio-system", "shop"),
    action: pick("ALLOW", "DENY"),
    path: pick("/a", "/b*"),
    slot: fc.nat(1),
  })
  .chain(({ namespace, action, path, slot }) =>
    editOf(
      `policy-${slot}.yaml`,
      fc.constant(
        istio(
          "AuthorizationPolicy",
          `policy-${slot}`,
          namespace,
          `
action: ${action}
rules: [{to: [{operation: {paths: ["${path}"]}}]}]`,
        ),
      ),
      3,
    ),
  );

const gateways = fc
  .record({
    hosts: pick('"*"', "a.example.com", "shop/*.example.com"),
    port: pick(80, 8081),
    tls: fc.boolean(),
    to: anyHost,
    slot: fc.nat(1),
  })
  .chain(({ hosts, port, tls, to, slot }) =>
    editOf(
      `gateway-${slot}.yaml`,
      fc.constant(
        documents(
          istio(
            "Gateway",
            `edge-${slot}`,
            "shop",
            `
selector: {istio: ingressgateway}
servers:
- port: {number: ${port}, protocol: ${tls ? "HTTPS" : "HTTP"}, name: ${tls ? "https" : "http"}}
  hosts: [${hosts}]
${tls ? "  tls: {mode: SIMPLE, credentialName: edge}" : ""}`,
          ),
          istio(
            "VirtualService",
            `edge-${slot}`,
            "shop",
            `
hosts: [a.example.com]
gateways: [edge-${slot}, mesh]
http: [{route: [{destination: {host: ${fqdn(to)}}}]}]`,
          ),
        ),
      ),
    ),
  );

const serviceEntries = fc
  .record({
    hosts: pick("external.example.com", "'*.wild.example.com'", fqdn("alpha.shop")),
    protocol: pick("HTTP", "TLS", "TCP"),
    kind: fc.nat(3),
    namespace: pick("shop", "bank"),
    slot: fc.nat(1),
  })
  .chain(({ hosts, protocol, kind, namespace, slot }) => {
    const kinds = [
      "resolution: STATIC\nendpoints: [{address: 192.0.2.1}, {address: 192.0.2.2, labels: {version: v1}}]",
      hosts.includes("*") ? "resolution: NONE" : "resolution: DNS",
      "resolution: NONE",
      "resolution: STATIC\nworkloadSelector: {labels: {app: alpha}}",
    ];
    return editOf(
      `entry-${slot}.yaml`,
      fc.constant(
        istio(
          "ServiceEntry",
          `entry-${slot}`,
          namespace,
          `
hosts: [${hosts}]
ports: [{number: ${protocol === "HTTP" ? 80 : 443}, name: main, protocol: ${protocol}}]
${kinds[kind]}`,
        ),
      ),
    );
  });

const workloadEntries = fc
  .record({ address: pick("10.3.0.1", "10.3.0.2"), app: pick("alpha", "beta"), version: pick("v1", "v2") })
  .chain(({ address, app, version }) =>
    editOf(
      "machine.yaml",
      fc.constant(
        istio(
          "WorkloadEntry",
          "machine",
          "shop",
          `
address: ${address}
labels: {app: ${app}, version: ${version}}
serviceAccount: machine`,
        ),
      ),
    ),
  );

const meshConfigs = fc
  .record({
    outbound: pick("ALLOW_ANY", "REGISTRY_ONLY"),
    more: pick(
      "enableAutoMtls: false",
      "accessLogFile: /dev/stdout",
      "defaultServiceExportTo: [.]",
      "connectTimeout: 3s",
      "protocolDetectionTimeout: 1s",
      "",
    ),
  })
  .map(({ outbound, more }): Edit => ({
    file: "../mesh.yaml",
    text: `outboundTrafficPolicy: {mode: ${outbound}}\n${more}\n`,
  }));

/** A change that somebody may make to a mesh. */
export const anyEdit: fc.Arbitrary<Edit> = fc.oneof(
  { weight: 3, arbitrary: services },
  { weight: 5, arbitrary: pods },
  { weight: 4, arbitrary: virtualServices },
  { weight: 4, arbitrary: destinationRules },
  { weight: 3, arbitrary: sidecars },
  { weight: 3, arbitrary: peerAuthentications },
  { weight: 2, arbitrary: authorizationPolicies },
  { weight: 3, arbitrary: gateways },
  { weight: 3, arbitrary: serviceEntries },
  { weight: 2, arbitrary: workloadEntries },
  { weight: 1, arbitrary: meshConfigs },
);

/** Initial objects in addition to the sample: one for each host. */
export const beginning: Readonly<Record<string, string>> = Object.fromEntries(
  hosts.flatMap((host) => [
    [`random/service-${host}.yaml`, service(host, `10.97.0.${index(host)}`)],
    [`random/pods-${host}.yaml`, workloads(host, [{ ip: `10.2.${index(host)}.0`, version: "v0" }])],
  ]),
);

/** The proxies that live in it: name.namespace, address, and what else is to be known. */
export const inhabitants = [
  { host: hosts[0], ip: "10.2.1.0", app: nameOf(hosts[0]) },
  { host: hosts[2], ip: "10.2.3.0", app: nameOf(hosts[2]) },
  { host: "productpage.bookinfo", ip: "127.20.0.11", app: "productpage" },
  {
    host: "ingressgateway.istio-system",
    ip: "127.20.0.1",
    app: "ingressgateway",
    type: "router",
    labels: { istio: "ingressgateway" },
  },
] as const;
