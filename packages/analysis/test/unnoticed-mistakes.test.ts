import { describe, expect, it } from "vitest";
import { describeMistakes, type Mistake } from "./found-mistakes.js";
import { analyzeAdded } from "./messages-of.js";
import { documentOf, type Fields, objectWriter } from "./mistake-objects.js";

const o = objectWriter({ Service: "v1", PeerAuthentication: "security.istio.io/v1" });

const deployment = (app: string): string =>
  documentOf({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: app, namespace: "shop" },
    spec: {
      selector: { matchLabels: { app } },
      template: {
        metadata: { labels: { app } },
        spec: {
          containers: [{ name: "app", image: "app", ports: [{ name: "web", containerPort: 8080 }] }],
        },
      },
    },
  });

/** A mesh without a fault, whose Service has other ports than its workloads. */
const mesh = [
  documentOf({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "shop", labels: { "istio-injection": "enabled" } },
  }),
  o(
    "Service",
    {
      selector: { app: "cart" },
      ports: [
        { name: "http", port: 80, targetPort: "web" },
        { name: "http-admin", port: 81, targetPort: 9000 },
      ],
    },
    { name: "cart" },
  ),
  deployment("cart"),
].join("");

const portModes = (mode: string, portLevelMtls: Fields): string =>
  o("PeerAuthentication", { selector: { matchLabels: { app: "cart" } }, mtls: { mode }, portLevelMtls });
const rule = (trafficPolicy: Fields): string => o("DestinationRule", { host: "cart", trafficPolicy });
const tls = (mode: string): Fields => ({ tls: { mode } });
const ofPort = (number: number, mode: string): Fields => ({ port: { number }, ...tls(mode) });

const strict = o("PeerAuthentication", { mtls: { mode: "STRICT" } });
/** The ConfigMap of an injector. */
const injector = (proxy: Fields): string =>
  documentOf({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "istio-sidecar-injector", namespace: "istio-system" },
    data: { values: JSON.stringify({ global: { proxy } }) },
  });

const mistakes: Readonly<Record<string, Mistake>> = {
  "plaintext to a port of workloads that requires mutual TLS, at the port of their Service": [
    portModes("PERMISSIVE", { 8080: { mode: "STRICT" } }) + rule({ portLevelSettings: [ofPort(80, "DISABLE")] }),
    "MESH0017",
    '"tls": {',
    "tls mode DISABLE conflicts with PeerAuthentication, which is STRICT for port 8080 of Deployment shop/cart: connections to port 80 of cart.shop.svc.cluster.local are rejected",
  ],
  "mutual TLS to all ports, of which one has it disabled": [
    portModes("STRICT", { 9000: { mode: "DISABLE" } }) + rule(tls("ISTIO_MUTUAL")),
    "MESH0017",
    '"tls": {',
    "which is DISABLE for port 9000 of Deployment shop/cart: connections to port 81 of cart.shop.svc.cluster.local are rejected; set tls mode DISABLE",
  ],
  "plaintext to ports of which the injector's values leave out one": [
    injector({ includeInboundPorts: "*", excludeInboundPorts: "9000" }) + strict + rule(tls("DISABLE")),
    "MESH0017",
    '"tls": {',
    "tls mode DISABLE conflicts with PeerAuthentication, which is STRICT for Deployment shop/cart",
  ],
};

describeMistakes(mesh, mistakes);

describe("nothing is said of what is right next to them", () => {
  it.each<readonly [string, string]>([
    [
      "plaintext to a port that accepts it",
      portModes("STRICT", { 8080: { mode: "PERMISSIVE" } }) + rule({ portLevelSettings: [ofPort(80, "DISABLE")] }),
    ],
    [
      "mutual TLS to all ports but the one that has it disabled",
      portModes("STRICT", { 9000: { mode: "DISABLE" } }) +
        rule({ ...tls("ISTIO_MUTUAL"), portLevelSettings: [ofPort(81, "DISABLE")] }),
    ],
    [
      "plaintext to a port that accepts it, and mutual TLS to the others",
      portModes("STRICT", { 9000: { mode: "PERMISSIVE" } }) +
        rule({ ...tls("DISABLE"), portLevelSettings: [ofPort(80, "ISTIO_MUTUAL")] }),
    ],
    [
      "plaintext to ports that no proxy intercepts, by the values of its injector",
      injector({ excludeInboundPorts: "8080,9000" }) + strict + rule(tls("DISABLE")),
    ],
    [
      "plaintext to ports that are not among those that proxies intercept, by the values of the injector",
      injector({ includeInboundPorts: "7000" }) + strict + rule(tls("DISABLE")),
    ],
  ])("%s", (_, documents) => {
    expect(analyzeAdded(mesh, documents)).toEqual([]);
  });
});
