import { analyzeTexts } from "@istiod/analysis";
import { describe, expect, it } from "vitest";
import { object } from "./messages-in.js";

const gatewayApi = (kind: string, name: string, spec: object): string =>
  object(kind, name, { apiVersion: "gateway.networking.k8s.io/v1", spec });
const service = object("Service", "shop/ratings", {
  spec: { clusterIP: "10.96.0.1", ports: [{ name: "http", port: 9080 }] },
});
const listeners = [{ name: "http", port: 80, protocol: "HTTP" }];
const istioGateway = object("Gateway", "shop/gw", {
  spec: {
    selector: { istio: "ingressgateway" },
    servers: [
      {
        port: { number: 443, name: "https", protocol: "HTTPS" },
        hosts: ["a.example"],
        tls: { mode: "SIMPLE", credentialName: "a" },
      },
    ],
  },
});

/** Mistakes with which all requests of the object, or of a rule of it, fail, with the code that says so. */
const mistakes: Readonly<Record<string, readonly [text: string, code: string]>> = {
  "a listener with HTTPS and without tls": [
    gatewayApi("Gateway", "shop/front", {
      gatewayClassName: "istio",
      listeners: [{ name: "x", port: 443, protocol: "HTTPS" }],
    }),
    "MESH0065",
  ],
  "a redirect of an HTTPRoute to its own scheme": [
    gatewayApi("Gateway", "shop/front", { gatewayClassName: "istio", listeners }) +
      gatewayApi("HTTPRoute", "shop/web", {
        parentRefs: [{ name: "front" }],
        rules: [{ filters: [{ type: "RequestRedirect", requestRedirect: { scheme: "http" } }] }],
      }),
    "MESH0043",
  ],
  "a redirect of a VirtualService to its own scheme": [
    istioGateway +
      object("VirtualService", "shop/vs", {
        spec: { hosts: ["a.example"], gateways: ["gw"], http: [{ redirect: { scheme: "https" } }] },
      }),
    "MESH0043",
  ],
  "a port of an Ingress that its Service lacks": [
    service +
      object(
        "Ingress",
        "shop/web",
        {
          spec: {
            rules: [
              {
                http: {
                  paths: [
                    { path: "/", pathType: "Prefix", backend: { service: { name: "ratings", port: { number: 80 } } } },
                  ],
                },
              },
            ],
          },
        },
        { annotations: { "kubernetes.io/ingress.class": "istio" } },
      ),
    "MESH0041",
  ],
};

describe("requests that always fail are errors, so that the object is not live", () => {
  it.each(Object.entries(mistakes))("%s", (_, [text, code]) => {
    const { messages } = analyzeTexts({ files: [{ file: "in.yaml", text }] });
    expect(messages.filter((message) => message.code === code).map(({ level }) => level)).toEqual(["Error"]);
  });
});
