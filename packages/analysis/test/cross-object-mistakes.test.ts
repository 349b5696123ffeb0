import { describe, expect, it, test } from "vitest";
import { messagesIn, object } from "./messages-in.js";

/** Codes of the findings that are tested. */
const codes = [
  "MESH0004",
  "MESH0009",
  "MESH0014",
  "MESH0017",
  "MESH0025",
  "MESH0040",
  "MESH0041",
  "MESH0042",
  "MESH0044",
  "MESH0045",
  "MESH0046",
  "MESH0047",
  "MESH0048",
  "MESH0053",
];

const groups: Readonly<Record<string, string>> = {
  PeerAuthentication: "security.istio.io/v1",
  Deployment: "apps/v1",
  MutatingWebhookConfiguration: "admissionregistration.k8s.io/v1",
};

/** A document of a kind that `object` does not know. */
function document(kind: string, name: string, content: object, metadata: object = {}): string {
  const [namespace, own = namespace] = name.includes("/") ? name.split("/") : [undefined, name];
  const named = { name: own, ...(namespace !== undefined && { namespace }), ...metadata };
  return `${JSON.stringify({ apiVersion: groups[kind], kind, metadata: named, ...content })}\n---\n`;
}

const service = (name: string, ...ports: readonly object[]): string =>
  object("Service", `shop/${name}`, { spec: { clusterIP: "10.96.0.1", selector: { app: name }, ports } });

const pod = (name: string, labels: object = {}, container = "istio-proxy"): string =>
  object(
    "Pod",
    `shop/${name}`,
    { spec: { containers: [{ name: "app" }, { name: container, image: "proxyv2" }] } },
    { labels: { app: name, ...labels } },
  );

/** Services with workloads, and an ingress gateway with a server for each protocol. */
const mesh = [
  object("Namespace", "shop", {}, { labels: { "istio-injection": "enabled" } }),
  object("Namespace", "istio-system", {}),
  service("web", { name: "http", port: 80, targetPort: 8080 }),
  service("db", { name: "tcp-sql", port: 5432 }),
  service("vault", { name: "https", port: 443, targetPort: 8443 }),
  service("multi", { name: "http", port: 80, targetPort: 8080 }, { name: "tcp-admin", port: 9000 }),
  service("any", { name: "thing", port: 7000 }),
  ...["web", "db", "vault", "multi", "any"].map((name) => pod(name)),
  object(
    "Pod",
    "istio-system/ingress",
    { spec: { containers: [{ name: "istio-proxy", image: "proxyv2" }] } },
    { labels: { istio: "ingress" } },
  ),
  object("Service", "istio-system/ingress", {
    spec: {
      selector: { istio: "ingress" },
      ports: [80, 443, 5432, 9443].map((port) => ({ name: `tcp-${port}`, port })),
    },
  }),
].join("");

const gateway = (...servers: readonly object[]): string =>
  object("Gateway", "shop/gw", { spec: { selector: { istio: "ingress" }, servers } });
const server = (number: number, protocol: string, hosts: readonly string[], tls?: object): object => ({
  port: { number, name: `p${number}`, protocol },
  hosts,
  ...(tls && { tls }),
});
const to = (host: string, port?: number): object => ({
  route: [{ destination: { host, ...(port !== undefined && { port: { number: port } }) } }],
});
const virtualService = (spec: object): string => object("VirtualService", "shop/vs", { spec });
const rule = (host: string, trafficPolicy: object): string =>
  object("DestinationRule", "shop/dr", { spec: { host, trafficPolicy } });
const policy = (app: string, spec: object): string =>
  object("AuthorizationPolicy", "shop/ap", { spec: { selector: { matchLabels: { app } }, ...spec } });
const entry = (spec: object): string => object("ServiceEntry", "shop/se", { spec });

/** Returns the messages, without the object and the line. */
function found(text: string): readonly string[] {
  return messagesIn(mesh + text, codes).map((message) => message.replace(/ \S+ \S+ \d+: /, ": "));
}

test("a correct mesh has no findings", () => {
  expect(found("")).toEqual([]);
});

describe("routes of a protocol that there is no port for", () => {
  const asIf = (host: string): string =>
    `connections to ${host} are balanced over all of its endpoints, as if there were no VirtualService`;
  const none = (kind: string, ports: string, rest: string): string =>
    `MESH0040: ${kind} routes have no effect, because there is no port for them (${ports})${rest}`;
  const name = (kind: string): string => `declare a port of that protocol (a Service's port by its name, ${kind}-…)`;

  it("of a host", () => {
    expect(found(virtualService({ hosts: ["db"], http: [to("db")] }))).toEqual([
      none("http", "5432 TCP", `: ${asIf("db")}; write tls or tcp routes, or ${name("http")}`),
    ]);
    expect(found(virtualService({ hosts: ["vault"], http: [to("vault")] }))).toEqual([
      none("http", "443 HTTPS", `: ${asIf("vault")}; write tls or tcp routes, or ${name("http")}`),
    ]);
    expect(found(virtualService({ hosts: ["web"], tcp: [to("web")] }))).toEqual([
      none("tcp", "80 HTTP", `: ${asIf("web")}; write http routes, or ${name("tcp")}`),
    ]);
    expect(found(virtualService({ hosts: ["web"], http: [to("web")], tcp: [to("web")] }))).toEqual([
      none("tcp", "80 HTTP", `; write http routes, or ${name("tcp")}`),
    ]);
  });

  it("of a Gateway", () => {
    const bound = { hosts: ["a.example"], gateways: ["gw"] };
    const at = (servers: string, gw: string): string => none(servers, gw, "");
    expect(found(gateway(server(5432, "TCP", ["*"])) + virtualService({ ...bound, http: [to("web")] }))).toEqual([
      `${at("http", "5432 TCP of Gateway shop/gw")}: connections are closed; write tcp routes, or set the protocol of the server to HTTP, or to HTTPS with TLS mode SIMPLE`,
    ]);
    expect(found(gateway(server(80, "HTTP", ["*"])) + virtualService({ ...bound, tcp: [to("db")] }))).toEqual([
      `${at("tcp", "80 HTTP of Gateway shop/gw")}: requests get 404; write http routes, or set the protocol of the server to TCP or TLS`,
    ]);
    const tls = { match: [{ sniHosts: ["a.example"] }], ...to("vault") };
    const terminating = gateway(server(443, "HTTPS", ["a.example"], { mode: "MUTUAL", credentialName: "c" }));
    expect(found(terminating + virtualService({ ...bound, tls: [tls] }))).toEqual([
      `${at("tls", "443 HTTPS MUTUAL of Gateway shop/gw")}: requests get 404; write http routes, or set the TLS mode of the server to PASSTHROUGH`,
    ]);
    const passing = gateway(server(443, "HTTPS", ["a.example"], { mode: "PASSTHROUGH" }));
    expect(found(passing + virtualService({ ...bound, http: [to("web")] }))).toEqual([
      `${at("http", "443 HTTPS PASSTHROUGH of Gateway shop/gw")}: connections are closed; write tls routes, or set the protocol of the server to HTTP, or to HTTPS with TLS mode SIMPLE`,
    ]);
  });

  it("of one of several hosts", () => {
    expect(found(virtualService({ hosts: ["web", "db"], http: [to("web")] }))).toEqual([
      "MESH0040: none of the http routes applies to db, which has no port for them (5432 TCP): its connections are balanced as if there were no VirtualService",
    ]);
  });

  it("of the port of a match", () => {
    const match = [{ port: 9000 }];
    expect(found(virtualService({ hosts: ["multi"], http: [{ match, ...to("multi", 80) }] }))).toEqual([
      "MESH0040: the match never applies: http routes have no effect at port 9000 TCP; name a port for http routes (80 HTTP)",
    ]);
    expect(found(virtualService({ hosts: ["multi"], tcp: [{ match, ...to("multi", 80) }] }))).toEqual([]);
  });

  it("of a destination", () => {
    expect(found(virtualService({ hosts: ["web"], http: [to("vault", 443)] }))).toEqual([
      "MESH0040: port 443 of vault.shop.svc.cluster.local is HTTPS, and requests are sent to it without TLS, which it rejects; add a DestinationRule with tls.mode SIMPLE, or name a port without TLS",
    ]);
    const originating = rule("vault", { tls: { mode: "SIMPLE", sni: "vault" } });
    expect(found(originating + virtualService({ hosts: ["web"], http: [to("vault", 443)] }))).toEqual([]);
    const passing = gateway(server(443, "TLS", ["a.example"], { mode: "PASSTHROUGH" }));
    const tls = {
      hosts: ["a.example"],
      gateways: ["gw"],
      tls: [{ match: [{ sniHosts: ["a.example"] }], ...to("web") }],
    };
    expect(found(passing + virtualService(tls))).toEqual([
      "MESH0040: port 80 of web.shop.svc.cluster.local is HTTP, and TLS is forwarded to it as it is, so that the handshake fails; name a port with TLS, or terminate TLS at the gateway and write http routes",
    ]);
  });

  it("is none if a port or a server has the protocol, or none is declared", () => {
    expect(found(virtualService({ hosts: ["any"], http: [to("any")], tcp: [to("any")] }))).toEqual([]);
    expect(found(virtualService({ hosts: ["db"], tcp: [to("db")] }))).toEqual([]);
    expect(found(virtualService({ hosts: ["vault"], tcp: [to("vault")] }))).toEqual([]);
    expect(found(virtualService({ hosts: ["*.example.com"], http: [to("web")] }))).toEqual([]);
    const both = gateway(
      server(80, "HTTP", ["a.example"]),
      server(9443, "TLS", ["a.example"], { mode: "PASSTHROUGH" }),
    );
    const tls = [{ match: [{ sniHosts: ["a.example"] }], ...to("vault") }];
    expect(found(both + virtualService({ hosts: ["a.example"], gateways: ["gw"], http: [to("web")], tls }))).toEqual(
      [],
    );
    const terminated = gateway(server(9443, "TLS", ["a.example"], { mode: "SIMPLE", credentialName: "c" }));
    expect(found(terminated + virtualService({ hosts: ["a.example"], gateways: ["gw"], tcp: [to("db")] }))).toEqual([]);
    expect(found(virtualService({ http: [{ match: [{ port: 1 }], ...to("web") }] }))).toEqual([]);
  });
});

describe("a port that there is not", () => {
  it("in a match", () => {
    const web = virtualService({ hosts: ["web"], http: [{ match: [{ port: 8080 }], ...to("web") }] });
    expect(found(web)).toEqual([
      "MESH0041: port 8080 is not among those of web (80 HTTP), so that the match never applies; name one of these",
    ]);
    const bound = { hosts: ["a.example"], gateways: ["gw"], http: [{ match: [{ port: 8080 }], ...to("web") }] };
    expect(found(gateway(server(80, "HTTP", ["a.example"])) + virtualService(bound))).toEqual([
      "MESH0041: port 8080 is not among those of the servers of Gateway shop/gw (80 HTTP of Gateway shop/gw), so that the match never applies; name one of these",
    ]);
  });

  it("in portLevelSettings", () => {
    const settings = (number: number): object => ({
      portLevelSettings: [{ port: { number }, loadBalancer: { simple: "RANDOM" } }],
    });
    const none =
      "MESH0041: the settings have no effect: port 8080 is not a port of web, which has ports 80; name the port of the service, not that of its workloads";
    expect(found(rule("web", settings(8080)))).toEqual([none]);
    expect(found(rule("web", settings(80)))).toEqual([]);
    const subsets = [{ name: "v1", labels: { app: "web" }, trafficPolicy: settings(8080) }];
    const routed = virtualService({
      hosts: ["web"],
      http: [{ route: [{ destination: { host: "web", subset: "v1" } }] }],
    });
    expect(found(object("DestinationRule", "shop/dr", { spec: { host: "web", subsets } }) + routed)).toEqual([none]);
  });

  it("in the ingress of a Sidecar", () => {
    const sidecar = (port: number, more: object = {}): string =>
      object("Sidecar", "shop/sc", {
        spec: {
          workloadSelector: { labels: { app: "web" } },
          ingress: [
            { port: { number: port, protocol: "HTTP", name: "http" }, defaultEndpoint: "127.0.0.1:1", ...more },
          ],
        },
      });
    expect(found(sidecar(80))).toEqual([
      "MESH0041: the listener gets no connection: no selected workload has port 80, at which clients would connect: it is the port of Service shop/web; name the workload's port, 8080",
    ]);
    expect(found(sidecar(8080))).toEqual([]);
    expect(found(sidecar(80, { bind: "127.0.0.1" }))).toEqual([]);
  });

  it("in an AuthorizationPolicy", () => {
    const meant = "it is the port of Service shop/web; name the workload's port, 8080";
    const ports = (...of: readonly string[]): object => ({ rules: [{ to: [{ operation: { ports: of } }] }] });
    expect(found(policy("web", ports("80")))).toEqual([
      `MESH0041: no selected workload has port 80, so that the rule allows no request: ${meant}`,
    ]);
    expect(found(policy("web", { action: "DENY", ...ports("80") }))).toEqual([
      `MESH0041: no selected workload has port 80, so that the rule denies no request: ${meant}`,
    ]);
    expect(found(policy("web", ports("80", "8080")))).toEqual([`MESH0041: no selected workload has port 80: ${meant}`]);
    expect(found(policy("web", { rules: [{ to: [{ operation: { notPorts: ["80"] } }] }] }))).toEqual([
      `MESH0041: no selected workload has port 80, so that the exclusion has no effect: ${meant}`,
    ]);
    expect(found(policy("web", { rules: [{ when: [{ key: "destination.port", values: ["80"] }] }] }))).toEqual([
      `MESH0041: no selected workload has port 80, so that the rule allows no request: ${meant}`,
    ]);
    expect(found(policy("web", ports("8080")))).toEqual([]);
  });
});

describe("a condition on tokens without a RequestAuthentication", () => {
  const none = (condition: string, consequence: string): string =>
    `MESH0045: ${condition} needs a token that was verified, and no RequestAuthentication applies to workloads of namespace shop (app=web): ${consequence}; add a RequestAuthentication for them`;
  const from = (source: object): object => ({
    rules: [{ from: [{ source }], to: [{ operation: { ports: ["8080"] } }] }],
  });
  const authentication = (app: string): string =>
    object("RequestAuthentication", "shop/ra", {
      spec: { selector: { matchLabels: { app } }, jwtRules: [{ issuer: "me", jwks: '{"keys":[]}' }] },
    });

  it("never holds, and its negation always", () => {
    expect(found(policy("web", from({ requestPrincipals: ["*"] })))).toEqual([
      none("requestPrincipals", "the rule allows no request, so that requests that no other rule allows are denied"),
    ]);
    expect(found(policy("web", { action: "DENY", ...from({ requestPrincipals: ["*"] }) }))).toEqual([
      none("requestPrincipals", "the rule denies no request"),
    ]);
    expect(found(policy("web", { action: "DENY", ...from({ notRequestPrincipals: ["*"] }) }))).toEqual([
      none(
        "notRequestPrincipals",
        "the condition holds for every request, so that requests with a valid token are denied, too",
      ),
    ]);
    expect(found(policy("web", { rules: [{ when: [{ key: "request.auth.claims[iss]", values: ["a"] }] }] }))).toEqual([
      none(
        "request.auth.claims[iss]",
        "the rule allows no request, so that requests that no other rule allows are denied",
      ),
    ]);
  });

  it("is none with one for the workload", () => {
    expect(found(policy("web", from({ requestPrincipals: ["*"] })) + authentication("web"))).toEqual([]);
    expect(found(policy("web", from({ requestPrincipals: ["*"] })) + authentication("db"))).toHaveLength(1);
    const wide = object("RequestAuthentication", "istio-system/ra", { spec: { jwtRules: [] } });
    expect(found(policy("web", from({ requestPrincipals: ["*"] })) + wide)).toEqual([]);
  });

  it("is none with one for the Gateway of the workload, but not for a Service of its name", () => {
    const gatewayPod = pod("edge", { "gateway.networking.k8s.io/gateway-name": "edge" });
    const gateway = { group: "gateway.networking.k8s.io", kind: "Gateway", name: "edge" };
    const policies = (target: object): string =>
      object("AuthorizationPolicy", "shop/edge", {
        spec: { targetRefs: [gateway], ...from({ requestPrincipals: ["*"] }) },
      }) + object("RequestAuthentication", "shop/ra", { spec: { targetRefs: [target], jwtRules: [] } });
    const told = (target: object): readonly string[] =>
      found(gatewayPod + policies(target)).filter((text) => text.startsWith("MESH0045"));
    expect(told(gateway)).toEqual([]);
    expect(told({ group: "", kind: "Service", name: "edge" })).toHaveLength(1);
    expect(told({ ...gateway, name: "other" })).toHaveLength(1);
  });
});

describe("a rule with conditions on requests for a TCP port", () => {
  const at = (conditions: string, port: string): string =>
    `MESH0046: ${conditions} cannot be compared on connections to TCP port ${port}`;
  const ignored =
    ", where the rule is ignored: connections that no other ALLOW rule allows are denied; limit the rule to the HTTP ports (ports), and allow the others by a rule without conditions on requests";
  const wider =
    ", where the rule applies without them and so denies every connection that its other conditions match; limit the rule to the HTTP ports (ports)";
  const get = { to: [{ operation: { methods: ["GET"] } }] };

  it("is ignored if it allows", () => {
    expect(found(policy("db", { rules: [get] }))).toEqual([at("methods", "5432 of Service shop/db") + ignored]);
    expect(found(policy("multi", { rules: [get] }))).toEqual([at("methods", "9000 of Service shop/multi") + ignored]);
    const more = {
      to: [{ operation: { paths: ["/a"], hosts: ["db"] } }],
      when: [{ key: "request.headers[x]", values: ["a"] }],
    };
    expect(found(policy("db", { rules: [more] }))).toEqual([
      at("hosts, paths, request.headers[x]", "5432 of Service shop/db") + ignored,
    ]);
  });

  it("is wider if it denies", () => {
    expect(found(policy("db", { action: "DENY", rules: [get] }))).toEqual([
      at("methods", "5432 of Service shop/db") + wider,
    ]);
  });

  it("is none if it is limited to HTTP, or another rule allows the port", () => {
    const limited = { to: [{ operation: { methods: ["GET"], ports: ["8080"] } }] };
    expect(found(policy("multi", { rules: [limited] }))).toEqual([]);
    expect(found(policy("multi", { rules: [get, { to: [{ operation: { ports: ["9000"] } }] }] }))).toEqual([]);
    expect(found(policy("web", { rules: [get] }))).toEqual([]);
    expect(found(policy("any", { rules: [get] }))).toEqual([]);
    const atGateway = object("AuthorizationPolicy", "istio-system/ap", {
      spec: { selector: { matchLabels: { istio: "ingress" } }, rules: [get] },
    });
    expect(found(atGateway)).toEqual([]);
  });
});

describe("a Sidecar that imports no service", () => {
  const sidecar = (hosts: readonly string[], more: object = {}): string =>
    object("Sidecar", "shop/sc", { spec: { egress: [{ hosts }], ...more } });
  const past =
    "send everything past the mesh: without routes, policies, telemetry and mutual TLS, which STRICT destinations reject";
  const fix = '; import the namespaces that they call, such as "./*"';

  it("hides everything", () => {
    const other = object("Namespace", "empty", {});
    expect(found(sidecar(["empty/*"]) + other)).toEqual([
      `MESH0044: no service matches the egress hosts, so that the workloads ${past}${fix}`,
    ]);
    const closed = { outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } };
    expect(found(sidecar(["~/*"], closed))).toEqual([
      `MESH0044: ~/* excludes every service, so that the workloads reach no service: their connections are closed (REGISTRY_ONLY)${fix}`,
    ]);
    expect(found(sidecar(["~/*"], { workloadSelector: { labels: { app: "web" } } }))).toEqual([]);
    expect(found(sidecar(["./*.example.com"]))).toHaveLength(1);
    expect(found(sidecar(["*/nowhere.example.com"]))).toHaveLength(1);
  });

  it("is none that imports one", () => {
    for (const hosts of [
      ["./*"],
      ["*/*"],
      ["shop/web.shop.svc.cluster.local"],
      ["./*.svc.cluster.local"],
      ["*/*.a.example"],
    ])
      expect(found(sidecar(hosts))).toEqual([]);
    const external = entry({ hosts: ["a.example.com"], ports: [{ number: 80, name: "http", protocol: "HTTP" }] });
    expect(found(sidecar(["./*.example.com"]) + external)).toEqual([]);
    const wide = object("Sidecar", "istio-system/sc", { spec: { egress: [{ hosts: ["./*"] }] } });
    expect(found(wide)).toEqual([]);
  });
});

describe("a ServiceEntry", () => {
  const http = { number: 80, name: "http", protocol: "HTTP" };
  const https = { number: 443, name: "https", protocol: "HTTPS" };
  const external = (spec: object): string => entry({ hosts: ["a.example.com"], resolution: "DNS", ...spec });

  it("with static resolution has endpoints", () => {
    expect(found(external({ resolution: "STATIC", ports: [http], addresses: ["192.0.2.1"] }))).toEqual([
      "MESH0009: a.example.com has no endpoints, so that requests to it fail: resolution STATIC takes them from endpoints or workloadSelector (addresses are those of the clients' side); add endpoints, or set resolution to DNS",
    ]);
    expect(found(external({ resolution: "STATIC", ports: [http], endpoints: [{ address: "192.0.2.1" }] }))).toEqual([]);
  });

  it("for a host outside is not of the mesh", () => {
    expect(found(external({ location: "MESH_INTERNAL", ports: [https] }))).toEqual([
      "MESH0047: location is MESH_INTERNAL, but a.example.com has no workloads in the mesh: metrics and logs show it as a service of the mesh, and east-west gateways forward other networks' requests to it; set location to MESH_EXTERNAL",
    ]);
    expect(found(external({ location: "MESH_INTERNAL", ports: [https], hosts: ["vm.shop.internal"] }))).toEqual([]);
    const machines = {
      location: "MESH_INTERNAL",
      ports: [http],
      resolution: "STATIC",
      endpoints: [{ address: "10.1.1.1" }],
    };
    expect(found(external(machines))).toEqual([]);
  });

  it("declares the protocol that is spoken", () => {
    expect(found(external({ ports: [{ ...http, number: 443 }] }))).toEqual([
      "MESH0047: port 443 is HTTP, so that proxies take TLS from applications for malformed HTTP and close the connections, and send plain HTTP to port 443; set protocol to HTTPS, or add a DestinationRule with tls.mode SIMPLE if applications send plain HTTP",
    ]);
    const translated = external({ ports: [{ ...http, targetPort: 443 }] });
    expect(found(translated)).toEqual([
      "MESH0047: requests are sent to port 443 without TLS, which servers reject; add a DestinationRule with tls.mode SIMPLE for the host",
    ]);
    expect(found(translated + rule("a.example.com", { tls: { mode: "SIMPLE" } }))).toEqual([]);
    expect(found(external({ ports: [{ ...https, number: 80 }] }))).toEqual([
      "MESH0047: port 80 is HTTPS, so that only TLS connections are recognized there, and plain HTTP has no route; set protocol to HTTP",
    ]);
    expect(found(external({ ports: [http, https] }))).toEqual([]);
  });

  it("whose applications send TLS gets no other TLS", () => {
    const originating = rule("a.example.com", { tls: { mode: "SIMPLE", sni: "a.example.com" } });
    expect(found(external({ ports: [https] }) + originating)).toEqual([
      "MESH0047: tls mode SIMPLE encrypts connections to port 443 of a.example.com once more: its protocol is HTTPS, so that applications send TLS there; set the port's protocol to HTTP if they do not, or remove tls",
    ]);
    const routed = virtualService({ hosts: ["a.example.com"], http: [to("a.example.com", 443)] });
    expect(found(external({ ports: [http, https] }) + originating + routed)).toEqual([]);
  });

  it("has no host of a Service", () => {
    const hosts = ["web.shop.svc.cluster.local"];
    expect(found(entry({ hosts, ports: [http], resolution: "STATIC", endpoints: [{ address: "192.0.2.1" }] }))).toEqual(
      [
        "MESH0048: web.shop.svc.cluster.local is the host of Service shop/web: requests for it go to 192.0.2.1 as well as to the Service's workloads, and the Service's ports and addresses take precedence; name another host, or remove the ServiceEntry",
      ],
    );
  });
});

describe("mutual TLS", () => {
  const mutual = (host: string): string => rule(host, { tls: { mode: "ISTIO_MUTUAL" } });

  it("needs a sidecar", () => {
    expect(found(service("old", { name: "http", port: 80 }) + pod("old", {}, "other") + mutual("old"))).toEqual([]);
    const opted = pod("old", { "sidecar.istio.io/inject": "false" }, "other");
    expect(found(service("old", { name: "http", port: 80 }) + opted + mutual("old"))).toEqual([
      "MESH0017: tls mode ISTIO_MUTUAL is set, and Pod shop/old has no sidecar: connections to old.shop.svc.cluster.local are rejected by it; inject a sidecar, or remove tls, so that clients use mutual TLS where it is possible",
    ]);
    expect(found(mutual("web"))).toEqual([]);
  });

  it("ends in the mesh", () => {
    const external = entry({
      hosts: ["a.example"],
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      resolution: "DNS",
    });
    expect(found(external + mutual("a.example"))).toEqual([
      "MESH0017: tls mode ISTIO_MUTUAL is set for a.example, which ServiceEntry shop/se declares outside of the mesh (MESH_EXTERNAL): its servers reject certificates of the mesh; set tls mode SIMPLE, or MUTUAL with certificates that they accept",
    ]);
  });
});

describe("a server of a Gateway", () => {
  it("has a route if others have", () => {
    const two = gateway(server(80, "HTTP", ["a.example"]), server(8080, "HTTP", ["b.example"]));
    const routed = virtualService({ hosts: ["a.example"], gateways: ["gw"], http: [to("web")] });
    expect(found(two + routed)).toEqual([
      "MESH0053: no VirtualService of the Gateway routes b.example: requests get 404; add the hosts to a VirtualService that names the Gateway",
    ]);
    expect(found(two)).toEqual([]);
  });

  it("is for a namespace that exists", () => {
    expect(found(gateway(server(80, "HTTP", ["shpo/a.example"])))).toEqual([
      'MESH0004: namespace "shpo" does not exist; did you mean "shop"?',
    ]);
  });
});

test("the policy of a subset to which no route leads", () => {
  const subsets = [{ name: "v1", labels: { app: "web" }, trafficPolicy: { loadBalancer: { simple: "RANDOM" } } }];
  const text = object("DestinationRule", "shop/dr", { spec: { host: "web", subsets } });
  expect(found(text)).toEqual([
    'MESH0042: the policy of subset "v1" has no effect, because no route leads to the subset: requests of its workloads get the trafficPolicy of the rule; add a VirtualService that routes to the subset',
  ]);
});

describe("an object of another revision", () => {
  const routes = object(
    "VirtualService",
    "shop/old",
    { spec: { hosts: ["web"] } },
    { labels: { "istio.io/rev": "stable" } },
  );
  const told = (revision?: string): readonly string[] =>
    messagesIn(routes, ["MESH0054", "IST0106", "IST0101"], revision === undefined ? {} : { revision });

  it("is named, and nothing else is said of it", () => {
    expect(told("canary")).toEqual([
      'MESH0054 VirtualService shop/old 1: belongs to revision "stable" (label istio.io/rev), and this istiod is revision "canary", which does not read the object',
    ]);
  });

  it.each([undefined, "stable"])("is analyzed by revision %s", (revision) => {
    expect(told(revision)).not.toEqual([]);
    expect(told(revision).filter((message) => message.startsWith("MESH0054"))).toEqual([]);
  });
});

describe("a revision", () => {
  const injector = document(
    "MutatingWebhookConfiguration",
    "istio-sidecar-injector",
    {
      webhooks: [{ name: "rev.namespace.sidecar-injector.istio.io" }],
    },
    { labels: { "istio.io/rev": "canary", "istio.io/tag": "prod" } },
  );
  const labels = (revision: string): Readonly<Record<string, unknown>> => ({ labels: { "istio.io/rev": revision } });
  const known = (text: string): readonly string[] =>
    messagesIn(text, ["MESH0049"]).map((message) => message.slice(message.indexOf(": ") + 2));
  const unknown = (consequence: string, hint = ""): string =>
    `revision "canray" is not known, so that ${consequence}: injection webhooks have canary, default, prod${hint}`;

  it("is that of an injection webhook", () => {
    const hint = '; did you mean "canary"?';
    expect(known(object("Namespace", "shop", {}, labels("canray")) + injector)).toEqual([
      unknown("pods of the namespace get no sidecar", hint),
    ]);
    expect(
      known(object("Sidecar", "shop/sc", { spec: { egress: [{ hosts: ["*/*"] }] } }, labels("canray")) + injector),
    ).toEqual([unknown("every control plane ignores the object", hint)]);
    const template = { metadata: labels("canray"), spec: { containers: [{ name: "app" }] } };
    expect(known(document("Deployment", "shop/web", { spec: { template } }) + injector)).toEqual([
      unknown("its pods get no sidecar", hint),
    ]);
    // As those of a control plane, whose webhooks come after it.
    const none = { "istio.io/rev": "canray", "sidecar.istio.io/inject": "false" };
    const uninjected = { ...template, metadata: { labels: none } };
    expect(known(document("Deployment", "shop/web", { spec: { template: uninjected } }) + injector)).toEqual([]);
  });

  it.each(["canary", "prod", "default"])("may be %s", (revision) => {
    expect(known(object("Namespace", "shop", {}, labels(revision)) + injector)).toEqual([]);
  });

  it("is not reported if there are no webhooks", () => {
    expect(known(object("Namespace", "shop", {}, labels("canray")))).toEqual([]);
  });
});
