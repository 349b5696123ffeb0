import { describe, expect, it } from "vitest";
import { messagesIn, object, placesIn } from "./messages-in.js";

const codes = ["MESH0022", "MESH0023"];
const bank = [
  object("Service", "bank/pay", { spec: { clusterIP: "10.0.0.7", ports: [{ name: "http", port: 80 }] } }),
  `{apiVersion: v1, kind: Pod, metadata: {name: pay-1, namespace: bank, labels: {app: pay}}, status: {podIP: "2001:db8::7", podIPs: [{ip: "2001:db8::7"}]}}\n---\n`,
  `{apiVersion: v1, kind: Pod, metadata: {name: ingress-1, namespace: ingress, labels: {istio: tenants}}}\n---\n`,
].join("");
const route = { http: [{ route: [{ destination: { host: "evil" } }] }] };
const virtualService = (spec: object, name = "evil/v") =>
  object("VirtualService", name, { spec: { ...route, ...spec } });
const pay = { hosts: ["pay.bank.svc.cluster.local"] };

describe("a VirtualService for a host of another namespace is reported", () => {
  it("with the settings that limit it", () => {
    expect(messagesIn(bank + virtualService(pay), codes)).toEqual([
      expect.stringContaining(
        'VirtualService evil/v 7: routes the requests of sidecars of other namespaces for pay.bank.svc.cluster.local, a host of namespace bank; exportTo ["."], defaultVirtualServiceExportTo',
      ),
    ]);
  });

  it.each([
    ["it is not exported", virtualService({ ...pay, exportTo: ["."] })],
    ["it is of the namespace", virtualService(pay, "bank/v")],
    ["it is of the root namespace", virtualService(pay, "istio-system/v")],
    ["it is of gateways only", virtualService({ ...pay, gateways: ["ingress/g"] })],
    ["nobody has the host", virtualService({ hosts: ["other.example.org"] })],
  ])("unless %s", (_, text) => {
    expect(messagesIn(bank + text, codes)).toEqual([]);
  });

  it("unless the mesh's default does not export it", () => {
    const meshConfig = { file: "mesh.yaml", text: 'defaultVirtualServiceExportTo: ["."]' };
    expect(messagesIn(bank + virtualService(pay), codes, { meshConfig })).toEqual([]);
  });
});

describe("a ServiceEntry is reported", () => {
  const entry = (spec: object, name = "evil/e") =>
    object("ServiceEntry", name, {
      spec: {
        hosts: ["e.test"],
        ports: [{ number: 80, name: "http", protocol: "HTTP" }],
        resolution: "STATIC",
        ...spec,
      },
    });

  it("for a host, an address of a Service, or one of a Pod in any text form of another namespace", () => {
    expect(placesIn(bank + entry(pay), codes)).toEqual(["MESH0023 ServiceEntry evil/e 7"]);
    expect(messagesIn(bank + entry({ addresses: ["10.0.0.7"] }), codes)[0]).toContain("of Service bank/pay");
    expect(messagesIn(bank + entry({ endpoints: [{ address: "2001:DB8:0:0::0007" }] }), codes)[0]).toContain(
      "has the address of Pod bank/pay-1 for clients of other namespaces",
    );
  });

  it("unless a setting limits it", () => {
    expect(messagesIn(bank + entry({ ...pay, exportTo: ["."] }), codes)).toEqual([]);
    for (const text of [
      'defaultServiceExportTo: ["."]',
      "serviceEntryVisibility: {applyToSidecars: true, defaultVisibility: NAMESPACE}",
    ])
      expect(messagesIn(bank + entry(pay), codes, { meshConfig: { file: "mesh.yaml", text } })).toEqual([]);
    expect(messagesIn(bank + entry({ addresses: ["10.0.0.7"] }, "bank/e"), codes)).toEqual([]);
  });
});

describe("a Gateway on proxies of another namespace is reported", () => {
  const gateway = (server: object, name = "evil/g") =>
    object("Gateway", name, {
      spec: { selector: { istio: "tenants" }, servers: [{ hosts: ["*"], ...server }] },
    });
  const http = (number: number) => ({ port: { number, name: "http", protocol: "HTTP" } });

  it("for redirects and the proxy's own ports", () => {
    expect(messagesIn(bank + gateway({ ...http(80), tls: { httpsRedirect: true } }), codes)[0]).toContain(
      "redirects requests at port 80 of the gateway of namespace ingress",
    );
    expect(messagesIn(bank + gateway(http(15021)), codes)[0]).toContain("opens port 15021 of the proxy itself");
    expect(messagesIn(bank + gateway(http(80)), codes)).toEqual([]);
    expect(messagesIn(bank + gateway(http(15021), "ingress/g"), codes)).toEqual([]);
  });

  it("unless gateways select those of their namespace only", () => {
    const environment = { PILOT_SCOPE_GATEWAY_TO_NAMESPACE: "true" };
    expect(messagesIn(bank + gateway(http(15021)), codes, { environment })).toEqual([]);
  });
});

describe("a Service with the label of a network", () => {
  const service = (namespace: string) =>
    object(
      "Service",
      `${namespace}/gw`,
      { spec: { externalIPs: ["203.0.113.1"], ports: [{ port: 15443 }] } },
      {
        labels: { "topology.istio.io/network": "far" },
      },
    );

  it("is reported outside of the root namespace, unless its namespace is configured", () => {
    expect(messagesIn(service("evil"), codes)[0]).toContain(
      "the Service is no gateway of network far, because only Services of the root namespace are; ISTIOD_NETWORK_GATEWAY_NAMESPACES=evil allows it",
    );
    expect(messagesIn(service("istio-system"), codes)).toEqual([]);
    for (const namespaces of ["evil", "a,evil", "*"])
      expect(
        messagesIn(service("evil"), codes, { environment: { ISTIOD_NETWORK_GATEWAY_NAMESPACES: namespaces } }),
      ).toEqual([]);
    const meshConfig = { file: "mesh.yaml", text: "rootNamespace: evil" };
    expect(messagesIn(service("evil"), codes, { meshConfig })).toEqual([]);
  });
});
