import { describe, expect, it } from "vitest";
import { messagesIn, object } from "./messages-in.js";

const service = (name: string, spec: object): string => object("Service", name, { spec });
const zipkin = service("obs/zipkin", { clusterIP: "10.0.0.1", ports: [{ name: "http", port: 9411 }] });
const alias = (name: string, externalName: string): string => service(name, { type: "ExternalName", externalName });
const uses = object("Telemetry", "shop/all", { spec: { tracing: [{ providers: [{ name: "p" }] }] } });
const asks = object("AuthorizationPolicy", "shop/ask", {
  spec: { action: "CUSTOM", provider: { name: "p" }, rules: [{}] },
});

const found = (text: string, provider: object, more: object = {}): readonly string[] =>
  messagesIn(text, ["MESH0052"], {
    meshConfig: {
      file: "mesh.yaml",
      text: JSON.stringify({ extensionProviders: [{ name: "p", ...provider }], ...more }),
    },
  });
const at = (name: string, port = 9411) => ({ zipkin: { service: name, port } });

describe("the service of an extension provider that is used", () => {
  const host = "zipkin.obs.svc.cluster.local";
  const wrong = (name: string, problem: string): readonly string[] => [
    `MESH0052 Telemetry shop/all 1: service ${JSON.stringify(name)} of provider p ${problem}`,
  ];

  it("must exist, also if it is an alias", () => {
    expect(found(uses + zipkin, at(host))).toEqual([]);
    expect(found(uses + zipkin, at(`obs/${host}`))).toEqual([]);
    expect(found(uses, at(host))).toEqual(wrong(host, "is no service of the mesh"));
    const name = "name.shop.svc.cluster.local";
    expect(found(uses + zipkin + alias("shop/name", host), at(name))).toEqual([]);
    expect(found(uses + alias("shop/name", "otel.example.com"), at(name))).toEqual(
      wrong(name, "is an alias of otel.example.com, which is no service of the mesh: add a ServiceEntry for it"),
    );
    expect(found(uses + alias("shop/name", name), at(name))).toEqual(
      wrong(name, "is an alias of itself, by other aliases"),
    );
  });

  it("must have the port", () => {
    expect(found(uses + zipkin, at(host, 9412))).toEqual(wrong(host, "has no port 9412, but 9411"));
  });

  it("must be one: a host in several namespaces needs the namespace", () => {
    const entry = (namespace: string): string =>
      object("ServiceEntry", `${namespace}/otel`, {
        spec: {
          ...{ hosts: ["otel.example.com"], resolution: "DNS" },
          ports: [{ number: 9411, name: "http", protocol: "HTTP" }],
        },
      });
    const both = entry("shop") + entry("obs");
    expect(found(uses + both, at("otel.example.com"))).toEqual(
      wrong("otel.example.com", "is in the namespaces obs, shop, expected namespace/host"),
    );
    expect(found(uses + both, at("obs/otel.example.com"))).toEqual([]);
  });

  it("is checked where it is used: by a Telemetry, an AuthorizationPolicy or as a default", () => {
    const authorizer = { envoyExtAuthzHttp: { service: host, port: 9411 } };
    const none = "is no service of the mesh";
    expect(found(asks, authorizer)).toEqual([
      `MESH0052 AuthorizationPolicy shop/ask 1: service "${host}" of provider p ${none}`,
    ]);
    expect(found("", at(host), { defaultProviders: { tracing: ["p"] } })).toEqual([
      expect.stringContaining(`service "${host}" of provider p ${none}`),
    ]);
    expect(found(zipkin, at("nowhere.example.com"))).toEqual([]);
    expect(found(uses, { envoyFileAccessLog: { path: "/dev/stdout" } })).toEqual([]);
  });
});
