import { ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import type { EnvoyClient } from "@istiod/xds-server/testing";
import { describe, expect, test } from "vitest";
import { Mesh, resource, variants } from "./mesh.js";
import { documents, istio, service, workloads } from "@istiod/config-schema/testing";

const app = (host: string, at: number): string =>
  documents(service(host, `10.96.0.${at}`), workloads(host, [{ ip: `10.1.0.${at}` }]));
const files = {
  "web.yaml": app("web.shop", 1),
  "cart.yaml": app("cart.shop", 2),
  "bank.yaml": app("bank.bank", 3),
};
const inbound = "virtualInbound";

async function start(
  variant: (typeof variants)[number],
  more: Readonly<Record<string, string>> = {},
): Promise<{ readonly mesh: Mesh; readonly web: EnvoyClient; readonly cart: EnvoyClient; readonly bank: EnvoyClient }> {
  const mesh = await Mesh.start(variant, { ...files, ...more });
  const web = await mesh.proxy("web.shop", "10.1.0.1");
  const cart = await mesh.proxy("cart.shop", "10.1.0.2");
  return { mesh, web, cart, bank: await mesh.proxy("bank.bank", "10.1.0.3") };
}

/** Reports whether the inbound listener accepts plaintext connections to the workload's port. */
function takesPlaintext(proxy: EnvoyClient): boolean {
  return resource(proxy, ListenerSchema, inbound).filterChains.some(
    ({ filterChainMatch: match, transportSocket }) => match?.destinationPort === 8080 && transportSocket === undefined,
  );
}

/** Filters of the inbound listener's HTTP connection managers, as text: names are enough here. */
function inboundText(proxy: EnvoyClient): string {
  return Buffer.from(
    proxy.resources("type.googleapis.com/envoy.config.listener.v3.Listener").get(inbound)?.bytes ?? [],
  ).toString("latin1");
}

const peerAuthentication = (name: string, namespace: string, mode: string, selector = ""): string =>
  istio(
    "PeerAuthentication",
    name,
    namespace,
    `
${selector}
mtls: {mode: ${mode}}`,
  );

describe.each(variants)("PeerAuthentication, by %s", (variant) => {
  test("STRICT for a namespace disables plaintext for its workloads, and affects no other proxy", async () => {
    const { mesh, web, bank } = await start(variant);
    expect([web, bank].map(takesPlaintext)).toEqual([true, true]);
    const received = await mesh.edit({ "strict.yaml": peerAuthentication("default", "shop", "STRICT") });
    expect(received).toEqual({ "web.shop": { LDS: [inbound] }, "cart.shop": { LDS: [inbound] } });
    expect([web, bank].map(takesPlaintext)).toEqual([false, true]);
  });

  test("a workload's policy overrides the namespace's", async () => {
    const { mesh, web, cart } = await start(variant, {
      "strict.yaml": peerAuthentication("default", "shop", "STRICT"),
    });
    const own = peerAuthentication("cart", "shop", "PERMISSIVE", "selector: {matchLabels: {app: cart}}");
    expect(await mesh.edit({ "own.yaml": own })).toEqual({ "cart.shop": { LDS: [inbound] } });
    expect([web, cart].map(takesPlaintext)).toEqual([false, true]);
    expect(await mesh.edit({ "strict.yaml": null })).toEqual({ "web.shop": { LDS: [inbound] } });
  });

  test("DISABLE for a workload makes it and its clients use plaintext", async () => {
    const { mesh, web, cart } = await start(variant);
    const cluster = "outbound|80||cart.shop.svc.cluster.local";
    expect(resource(web, ClusterSchema, cluster).transportSocketMatches.length).toBeGreaterThan(0);
    const off = peerAuthentication("cart", "shop", "DISABLE", "selector: {matchLabels: {app: cart}}");
    const received = await mesh.edit({ "off.yaml": off });
    expect(received["cart.shop"]).toHaveProperty("LDS", [inbound]);
    expect(received["web.shop"]?.["EDS"]).toEqual([cluster]);
    expect(takesPlaintext(cart)).toBe(true);
    expect(Object.values(received).flatMap(({ RDS = [] }) => RDS)).toEqual([]);
  });

  test("a policy that equals the default causes no push", async () => {
    const { mesh } = await start(variant);
    expect(await mesh.edit({ "same.yaml": peerAuthentication("default", "istio-system", "PERMISSIVE") })).toEqual({});
  });
});

const allow = (path: string): string =>
  istio(
    "AuthorizationPolicy",
    "cart",
    "shop",
    `
selector: {matchLabels: {app: cart}}
action: ALLOW
rules:
- from: [{source: {principals: [cluster.local/ns/shop/sa/web]}}]
  to: [{operation: {paths: [${path}]}}]`,
  );

describe.each(variants)("AuthorizationPolicy, by %s", (variant) => {
  test("and its changes reach the selected workloads only", async () => {
    const { mesh, cart } = await start(variant);
    expect(await mesh.edit({ "allow.yaml": allow("/items") })).toEqual({ "cart.shop": { LDS: [inbound] } });
    expect(inboundText(cart)).toContain("/items");
    expect(await mesh.change("allow.yaml", "/items", "/basket")).toEqual({ "cart.shop": { LDS: [inbound] } });
    expect(inboundText(cart)).not.toContain("/items");
    expect(await mesh.edit({ "allow.yaml": null })).toEqual({ "cart.shop": { LDS: [inbound] } });
    expect(inboundText(cart)).not.toContain("/basket");
  });

  test("in the root namespace reaches every workload", async () => {
    const { mesh } = await start(variant);
    const deny = istio(
      "AuthorizationPolicy",
      "no-admin",
      "istio-system",
      `
action: DENY
rules: [{to: [{operation: {paths: [/admin*]}}]}]`,
    );
    const all = Object.fromEntries(["web.shop", "cart.shop", "bank.bank"].map((name) => [name, { LDS: [inbound] }]));
    expect(await mesh.edit({ "deny.yaml": deny })).toEqual(all);
  });

  test("with an invalid rule does not replace the last good version", async () => {
    const { mesh, cart } = await start(variant, { "allow.yaml": allow("/items") });
    expect(await mesh.change("allow.yaml", "action: ALLOW", "action: PERMIT")).toEqual({});
    expect(inboundText(cart)).toContain("/items");
    expect(mesh.complaints.join("\n")).toMatch(/allow\.yaml:\d+: AuthorizationPolicy shop\/cart: .*action/);
  });
});
