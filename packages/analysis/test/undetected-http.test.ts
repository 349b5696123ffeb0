import { describe, expect, it } from "vitest";
import { messagesIn, object } from "./messages-in.js";

const pod = (name: string): string =>
  object(
    "Pod",
    name,
    { spec: { containers: [{ name: "app" }, { name: "istio-proxy" }] } },
    { labels: { app: "cart" } },
  );
const service = (...ports: readonly object[]): string =>
  object("Service", "shop/cart", { spec: { selector: { app: "cart" }, ports } });
const undeclared = { name: "foo", port: 80, targetPort: 8080 };
const policy = (rule: object, more: object = {}, namespace = "shop"): string =>
  object("AuthorizationPolicy", `${namespace}/cart`, { spec: { rules: [rule], ...more } });
const peers = (mode: string, ports: object = {}): string =>
  `${JSON.stringify({ apiVersion: "security.istio.io/v1", kind: "PeerAuthentication", metadata: { name: "cart", namespace: "shop" }, spec: { selector: { matchLabels: { app: "cart" } }, mtls: { mode }, ...ports } })}\n---\n`;
const get = { to: [{ operation: { methods: ["GET"] } }] };

const off = { environment: { PILOT_ENABLE_ALPN_FILTER: "false" } };
const found = (text: string, options: object = off): readonly string[] =>
  messagesIn(text + pod("shop/cart-1"), ["MESH0051"], options).map(
    (message) => /: the rule (.*); declare/.exec(message)?.[1] ?? message,
  );
const nothing = (attribute: string, port = "shop/cart:80"): string =>
  `allows nothing at ${port}, because only HTTP has ${attribute}`;

describe("without the announcement of HTTP, a rule by HTTP attributes at a port without a declared protocol", () => {
  it("is reported with what it does to TCP", () => {
    expect(found(policy(get) + service(undeclared))).toEqual([nothing("methods")]);
    expect(found(policy(get, { action: "DENY" }) + service(undeclared))).toEqual([
      "denies more than meant at shop/cart:80: it applies without methods, which only HTTP has",
    ]);
    expect(messagesIn(policy(get) + service(undeclared) + pod("shop/a"), ["MESH0051"], off)).toEqual([
      `MESH0051 AuthorizationPolicy shop/cart 1: with PILOT_ENABLE_ALPN_FILTER=false, clients do not announce HTTP over mutual TLS at ports without a declared protocol: the rule ${nothing("methods")}; declare the protocol by the port's name or appProtocol`,
    ]);
  });

  it.each([
    ["paths", { to: [{ operation: { paths: ["/a"] } }] }],
    ["notHosts", { to: [{ operation: { notHosts: ["a"] } }] }],
    ["requestPrincipals", { from: [{ source: { requestPrincipals: ["*"] } }] }],
    ["request.headers[x]", { when: [{ key: "request.headers[x]", values: ["a"] }] }],
    ["request.auth.claims[a]", { when: [{ key: "request.auth.claims[a]", values: ["a"] }] }],
  ])("is reported for %s", (attribute, rule) => {
    expect(found(policy(rule) + service(undeclared))).toEqual([nothing(attribute)]);
  });

  it("is not reported if HTTP is announced, the protocol is declared, or the rule is about other ports", () => {
    expect(found(policy(get) + service(undeclared), {})).toEqual([]);
    for (const declared of [{ name: "http-foo" }, { name: "tcp" }, { appProtocol: "http" }])
      expect(found(policy(get) + service({ ...undeclared, ...declared }))).toEqual([]);
    const at = (port: string) => ({ to: [{ operation: { methods: ["GET"], ports: [port] } }] });
    expect(found(policy(at("80")) + service(undeclared))).toEqual([]);
    expect(found(policy(at("8080")) + service(undeclared))).toEqual([nothing("methods")]);
    const notAt = { to: [{ operation: { methods: ["GET"], notPorts: ["8080"] } }] };
    expect(found(policy(notAt) + service(undeclared))).toEqual([]);
    expect(found(policy({ to: [{ operation: { ports: ["8080"] } }] }) + service(undeclared))).toEqual([]);
    expect(found(policy(get, { selector: { matchLabels: { app: "web" } } }) + service(undeclared))).toEqual([]);
  });

  it("is not reported without mutual TLS, where HTTP is detected by its bytes", () => {
    expect(found(policy(get) + service(undeclared) + peers("DISABLE"))).toEqual([]);
    expect(found(policy(get) + service(undeclared) + peers("STRICT"))).toEqual([nothing("methods")]);
    const except = peers("STRICT", { portLevelMtls: { 8080: { mode: "DISABLE" } } });
    expect(found(policy(get) + service(undeclared) + except)).toEqual([]);
  });

  it("is reported for a policy of the root namespace, too", () => {
    expect(found(policy(get, {}, "istio-system") + service(undeclared))).toEqual([nothing("methods")]);
    expect(found(policy(get, {}, "bank") + service(undeclared))).toEqual([]);
  });
});
