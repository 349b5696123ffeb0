import { optional, rare, some, unique } from "@istiod/gateway-api/testing";
import fc from "fast-check";
import { exportTo, labels, objects, workloadSelector } from "./fields.js";

const { constantFrom, record, oneof, tuple } = fc;
const networking = "networking.istio.io/v1";

const entryPorts = fc
  .subarray(
    [
      { number: 80, name: "http", protocol: "HTTP" },
      { number: 8080, name: "http-alt", protocol: "HTTP" },
      { number: 443, name: "tls", protocol: "TLS" },
      { number: 9000, name: "tcp", protocol: "TCP" },
      { number: 7070, name: "grpc", protocol: "GRPC" },
      { number: 8443, name: "https", protocol: "HTTPS" },
      { number: 3306, name: "mysql", protocol: "MySQL" },
    ],
    { minLength: 1, maxLength: 3 },
  )
  .chain((ports) => tuple(fc.constant(ports), rare(constantFrom(8081, 9443))))
  .map(([ports, targetPort]) => ports.map((each, at) => (at === 0 && targetPort ? { ...each, targetPort } : each)));

const endpoint = record({
  address: constantFrom("10.1.9.1", "10.1.9.2", "192.0.2.7"),
  labels: optional(labels),
  locality: rare(constantFrom("r1/z1", "r2")),
  weight: rare(constantFrom(1, 10)),
  network: rare(constantFrom("other")),
  serviceAccount: rare(constantFrom("spare")),
});
const entryHost = constantFrom(
  "own.example.org",
  "own.example.org",
  "dns.example.org",
  "second.example.org",
  "*.wild.example.org",
);
const common = {
  ports: entryPorts,
  location: optional(constantFrom("MESH_EXTERNAL", "MESH_INTERNAL")),
  exportTo,
  subjectAltNames: rare(constantFrom(["san.example"])),
};
const plainHosts = some(
  entryHost.filter((each) => !each.startsWith("*")),
  2,
).map(unique((each) => each));
const addresses = rare(constantFrom<readonly string[]>(["240.0.9.1"], ["240.0.9.2"], ["240.1.0.0/16"]));
const serviceEntry = oneof<fc.Arbitrary<object>[]>(
  record({
    hosts: plainHosts,
    resolution: fc.constant("STATIC"),
    endpoints: some(endpoint, 3).map(unique(({ address }) => address)),
    addresses,
    ...common,
  }),
  record({
    hosts: plainHosts,
    resolution: fc.constant("STATIC"),
    workloadSelector: labels.map((of) => ({ labels: of })),
    addresses,
    ...common,
  }),
  record({
    hosts: plainHosts,
    resolution: constantFrom("DNS", "DNS_ROUND_ROBIN"),
    endpoints: rare(fc.tuple(endpoint.map((each) => ({ ...each, address: "upstream.example.net" })))),
    addresses,
    ...common,
  }),
  record({
    hosts: some(entryHost, 2).map(unique((each) => each)),
    resolution: fc.constant("NONE"),
    addresses,
    ...common,
  }),
);

const workloadEntry = record({
  address: constantFrom("10.1.8.1", "10.1.8.2"),
  labels,
  ports: rare(constantFrom({ http: 8088 }, { tcp: 9001 })),
  serviceAccount: optional(constantFrom("vm")),
  weight: rare(constantFrom(1, 5)),
  locality: rare(constantFrom("r1/z2")),
});

const imported = some(
  constantFrom(
    "./*",
    "*/*",
    "shop/*",
    "~/*",
    "*/rates.example.net",
    "shop/cart.shop.svc.cluster.local",
    "payments/*.payments.svc.cluster.local",
    "./own.example.org",
  ),
  3,
).map(unique((each) => each));
const egress = tuple(
  imported,
  rare(
    constantFrom<object>(
      { number: 80, protocol: "HTTP", name: "http" },
      { number: 9000, protocol: "TCP", name: "tcp" },
    ),
  ),
  rare(constantFrom("127.0.0.1", "10.96.3.1")),
).map(([of, at, bind]) => ({ hosts: of, ...(at !== undefined && { port: at, ...(bind !== undefined && { bind }) }) }));
const ingress = record({
  port: constantFrom({ number: 8080, protocol: "HTTP", name: "http" }, { number: 9000, protocol: "TCP", name: "tcp" }),
  defaultEndpoint: constantFrom("127.0.0.1:8080", "unix:///var/run/app.sock", "0.0.0.0:9090"),
  connectionPool: rare(constantFrom({ http: { http1MaxPendingRequests: 5 } })),
  bind: rare(constantFrom("0.0.0.0")),
});
const sidecar = record({
  egress: some(egress, 2).map((list) => list.filter(({ port }, at) => port !== undefined || at === list.length - 1)),
  ingress: rare(fc.tuple(ingress)),
  outboundTrafficPolicy: rare(constantFrom<object>({ mode: "REGISTRY_ONLY" }, { mode: "ALLOW_ANY" })),
  workloadSelector,
  inboundConnectionPool: rare(constantFrom({ tcp: { maxConnections: 9 } })),
});

const serverHosts = some(
  constantFrom("app.example.com", "*.example.com", "*", "infra/app.example.com", "shop/*", "./app.example.com"),
  2,
).map(unique((each) => each));
const serverTls = oneof<fc.Arbitrary<object>[]>(
  record({
    mode: constantFrom("SIMPLE", "MUTUAL", "OPTIONAL_MUTUAL"),
    credentialName: constantFrom("certificate", "absent"),
    minProtocolVersion: rare(constantFrom("TLSV1_2", "TLSV1_3")),
  }),
  fc.constant({ mode: "ISTIO_MUTUAL" }),
);
const server = oneof<fc.Arbitrary<{ readonly port: { readonly name: string } }>[]>(
  record({
    port: constantFrom(
      { number: 80, name: "http", protocol: "HTTP" },
      { number: 8080, name: "http2", protocol: "HTTP2" },
    ),
    hosts: serverHosts,
    tls: rare(fc.constant({ httpsRedirect: true })),
    bind: rare(constantFrom("127.0.0.1")),
  }),
  record({
    port: constantFrom(
      { number: 443, name: "https", protocol: "HTTPS" },
      { number: 8443, name: "https-2", protocol: "HTTPS" },
    ),
    hosts: serverHosts,
    tls: serverTls,
  }),
  record({
    port: fc.constant({ number: 9443, name: "tls", protocol: "TLS" }),
    hosts: serverHosts,
    tls: oneof<fc.Arbitrary<object>[]>(
      fc.constant({ mode: "PASSTHROUGH" }),
      fc.constant({ mode: "AUTO_PASSTHROUGH" }),
      serverTls,
    ),
  }),
  record({ port: fc.constant({ number: 9000, name: "tcp", protocol: "TCP" }), hosts: serverHosts }),
);
const gateway = record({
  selector: constantFrom<object>({ istio: "ingress" }, { istio: "ingress" }, { app: "manual" }, {}),
  servers: some(server, 3).map((list) =>
    list.map((each, at) => ({ ...each, port: { ...each.port, name: `${each.port.name}-${at}` } })),
  ),
});

/** No two entries have a host in common: what they give it would be merged in ways that differ on purpose. */
export const serviceEntries = objects(networking, "ServiceEntry", serviceEntry, 4).map((entries) => {
  const seen = new Set<string>();
  return entries.filter(({ spec }) => {
    const { hosts } = spec as { readonly hosts: readonly string[] };
    const isNew = hosts.every((host) => !seen.has(host));
    for (const host of hosts) seen.add(host);
    return isNew;
  });
});
export const workloadEntries = objects(networking, "WorkloadEntry", workloadEntry, 2);
export const sidecars = objects(networking, "Sidecar", sidecar, 2);
export const gateways = objects(networking, "Gateway", gateway, 3, constantFrom("infra", "infra", "shop"));
