import { type Finding, LiveAnalysis } from "@istiod/analysis";
import { KeyUsageFlags, mint } from "@istiod/ca/testing";
import { applyChanges, httpRouteKind, httpRoutes, kubernetesGatewayKind, readText } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { describe, expect, test } from "vitest";
import { messagesIn } from "./messages-in.js";

const codes = ["MESH0061", "MESH0062", "MESH0063", "MESH0064", "MESH0065"];
const found = (...objects: readonly string[]): readonly string[] =>
  messagesIn(objects.join(""), codes).map((message) => message.replace(/^(\S+ \S+ \S+) \d+/, "$1"));

const object = (kind: string, name: string, fields: object, group = "gateway.networking.k8s.io/v1"): string =>
  `---\n${JSON.stringify({ apiVersion: group, kind, metadata: { name, namespace: "shop" }, ...fields })}\n`;
const http = { name: "http", port: 80, protocol: "HTTP" };
const gateway = (spec: object = {}): string =>
  object("Gateway", "front", { spec: { gatewayClassName: "istio", listeners: [http], ...spec } });
const service = object("Service", "cart", { spec: { clusterIP: "10.0.0.1", ports: [{ port: 80 }] } }, "v1");
const backendRefs = [{ name: "cart", port: 80 }];
const route = (spec: object = {}): string =>
  object("HTTPRoute", "cart", { spec: { parentRefs: [{ name: "front" }], rules: [{ backendRefs }], ...spec } });

describe("what istiod does not accept, attach or resolve is a finding", () => {
  test("none for what it serves", () => {
    expect(found(gateway(), service, route())).toEqual([]);
  });

  test.each<[string, readonly string[], string]>([
    [
      "a route that no listener accepts",
      [gateway(), service, route({ parentRefs: [{ name: "front", sectionName: "https" }] })],
      'MESH0062 HTTPRoute shop/cart: parent Gateway front, listener https: Accepted is False with reason NoMatchingParent: sectionName "https" not found',
    ],
    [
      "a route to a Service that does not exist",
      [gateway(), route()],
      "MESH0063 HTTPRoute shop/cart: parent Gateway front: ResolvedRefs is False with reason BackendNotFound: backend(cart.shop.svc.cluster.local) not found",
    ],
    [
      "a route of a Gateway that does not exist",
      [service, route()],
      "MESH0064 HTTPRoute shop/cart: not attached: there is no Gateway shop/front",
    ],
    [
      "a route of a ListenerSet that does not exist",
      [service, route({ parentRefs: [{ kind: "ListenerSet", name: "more" }] })],
      "MESH0064 HTTPRoute shop/cart: not attached: there is no ListenerSet shop/more",
    ],
    [
      "a route of a kind that has no routes",
      [service, route({ parentRefs: [{ group: "", kind: "Pod", name: "cart" }] })],
      'MESH0064 HTTPRoute shop/cart: not attached: routes are not attached to objects of kind Pod of group ""',
    ],
    [
      "a route with a hostname that no listener has",
      [
        gateway({ listeners: [{ ...http, hostname: "a.example.com" }] }),
        service,
        route({ hostnames: ["a.example.com", "b.example.com"] }),
      ],
      "MESH0065 HTTPRoute shop/cart: parent Gateway front: no effect on b.example.com, which no listener of the parent has",
    ],
    [
      "a Gateway of a class that does not exist",
      [gateway({ gatewayClassName: "istoi" })],
      "MESH0064 Gateway shop/front: not attached: there is no GatewayClass istoi",
    ],
    [
      "a Gateway of a class that variables disable",
      [gateway({ gatewayClassName: "istio-waypoint" })],
      "MESH0064 Gateway shop/front: not attached: GatewayClass istio-waypoint is served only with PILOT_ENABLE_AMBIENT and PILOT_ENABLE_AMBIENT_WAYPOINTS",
    ],
    [
      "a listener without its certificate",
      [
        gateway({
          listeners: [http, { name: "s", port: 443, protocol: "HTTPS", tls: { certificateRefs: [{ name: "a" }] } }],
        }),
      ],
      "MESH0063 Gateway shop/front: listener s: ResolvedRefs is False with reason InvalidCertificateRef: invalid certificate reference //a., secret shop/a not found",
    ],
    [
      "a listener whose place another one has",
      [gateway({ listeners: [http, { ...http, name: "again" }] })],
      "MESH0062 Gateway shop/front: listener again: Conflicted is True with reason HostnameConflict: Listener has a conflict with another listener attached to the same Gateway",
    ],
    [
      "an address that does not exist",
      [gateway({ addresses: [{ type: "Hostname", value: "none.shop.svc.cluster.local" }] })],
      'MESH0062 Gateway shop/front: Programmed is False with reason AddressNotUsable: Failed to assign to any requested addresses: hostname "none.shop.svc.cluster.local" not found',
    ],
    [
      "a ListenerSet that its Gateway does not allow",
      [gateway(), object("ListenerSet", "more", { spec: { parentRef: { name: "front" }, listeners: [http] } })],
      "MESH0062 ListenerSet shop/more: Accepted is False with reason NotAllowed: The parent Gateway does not allow this reference; check the 'spec.allowedRoutes'",
    ],
    [
      "a policy without its target",
      [
        object("BackendTLSPolicy", "tls", {
          spec: {
            targetRefs: [{ group: "", kind: "Service", name: "cart" }],
            validation: { hostname: "cart", wellKnownCACertificates: "System" },
          },
        }),
      ],
      "MESH0062 BackendTLSPolicy shop/tls: ancestor Service cart: Accepted is False with reason TargetNotFound: targetRefs invalid: reference shop/cart (of kind Service) not found",
    ],
  ])("%s", (_, objects, message) => {
    expect(found(...objects)).toEqual([message]);
  });

  test("not what belongs to another controller", () => {
    const spec = { controllerName: "example.com/gateways" };
    const other = `---\n${JSON.stringify({ apiVersion: "gateway.networking.k8s.io/v1", kind: "GatewayClass", metadata: { name: "other" }, spec })}\n`;
    expect(found(other, gateway({ gatewayClassName: "other" }), route())).toEqual([]);
  });

  test("a certificate that Envoy does not take", async () => {
    const { pem, keyPem } = await mint({ keyUsages: KeyUsageFlags.keyAgreement, subject: "CN=a" });
    const tls = { certificateRefs: [{ name: "weak" }] };
    expect(
      found(
        gateway({ listeners: [{ name: "https", port: 443, protocol: "HTTPS", tls }] }),
        object("Secret", "weak", { stringData: { "tls.crt": pem, "tls.key": keyPem } }, "v1"),
      ),
    ).toEqual([
      "MESH0061 Gateway shop/front: listener https: proxies do not get the certificate of secret shop/weak: the certificate's key usage does not allow digital signatures",
    ]);
  });
});

/** Returns the live findings about objects, the first of which may change after they are read. */
async function liveFindings(text: string, change: (database: Database<undefined>) => void): Promise<string[]> {
  const database = new Database<undefined>();
  database.commit((tx) =>
    applyChanges(
      tx,
      readText(text, "a.yaml").flatMap(({ objects }) => objects),
    ),
  );
  change(database);
  const kinds = [kubernetesGatewayKind, httpRouteKind];
  const analysis = new LiveAnalysis({ database, client: undefined, kinds, sources: [], problems: () => [] });
  const findings: readonly Finding[] = await analysis.findings();
  analysis.stop();
  return findings
    .filter(({ code }) => code === "IST0171" || code === "IST0001" || codes.includes(code))
    .map(({ code, origin, level = "", message }) => `${code} ${origin.kind} ${level} ${message}`);
}

test("a route whose rules cannot be read is reported, and the others are not", async () => {
  const other = route().replace('"name":"cart","namespace"', '"name":"other","namespace"');
  const findings = await liveFindings(gateway() + service + route() + other, (database) =>
    database.commit((tx) => {
      const read = database.read(httpRoutes, "shop/cart");
      if (read === undefined) throw new Error("no route");
      const [rule] = read.spec.rules;
      tx.set(httpRoutes, "shop/cart", {
        ...read,
        spec: { ...read.spec, rules: [{ ...rule, timeouts: null } as never] },
      });
    }),
  );
  expect(findings.filter((finding) => !finding.includes("AddressNot"))).toEqual([
    expect.stringMatching(
      /^MESH0063 HTTPRoute {2}parent Gateway front: ResolvedRefs is False with reason InvalidConfiguration: the rules cannot be converted: /,
    ),
  ]);
});

test("conditions of istiod's own that it is about to replace are not reported, those of others are", async () => {
  const condition = (type: string): object => ({ type, status: "False", reason: "Pending", message: "stale" });
  const parents = ["istio.io/gateway-controller", "example.com/other"].map((controllerName) => ({
    parentRef: { name: "front" },
    controllerName,
    conditions: [condition("Accepted")],
  }));
  const text = [
    gateway().replace('"spec"', `"status":${JSON.stringify({ conditions: [condition("Programmed")] })},"spec"`),
    service,
    route().replace('"spec"', `"status":${JSON.stringify({ parents })},"spec"`),
  ].join("");
  const findings = await liveFindings(text, () => undefined);
  expect(findings.filter((finding) => finding.startsWith("IST0171"))).toEqual([
    "IST0171 HTTPRoute  the status has the negative condition Accepted=False with reason Pending: stale",
  ]);
  // Its Service has no address yet, which istiod alone cannot tell from one that never gets any.
  expect(findings.filter((finding) => finding.startsWith("MESH"))).toEqual([
    'MESH0062 Gateway Info Programmed is False with reason AddressNotUsable: Failed to assign to any requested addresses: hostname "front-istio.shop.svc.cluster.local" not found',
  ]);
});
