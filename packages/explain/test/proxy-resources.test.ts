import { mint } from "@istiod/ca/testing";
import { proxyNamed } from "@istiod/push-context";
import { describe, expect, it } from "vitest";
import { proxyResources } from "../src/index.js";
import { cart, meshOf, object, service } from "./mesh.js";

const pod = (name: string, labels: Readonly<Record<string, string>>): string =>
  `---\n${JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "shop", labels },
    spec: { serviceAccountName: name, containers: [{ name: "app" }] },
    status: { phase: "Running", podIP: "10.1.0.1", podIPs: [{ ip: "10.1.0.1" }] },
  })}\n`;
const pair = await mint({});
const secret = `---\n${JSON.stringify({ apiVersion: "v1", kind: "Secret", metadata: { name: "front", namespace: "shop" }, type: "kubernetes.io/tls", stringData: { "tls.crt": pair.pem, "tls.key": pair.keyPem } })}\n`;
const tls = { mode: "SIMPLE", credentialName: "front" };
const gateway = object("Gateway", "front", {
  selector: { app: "gw" },
  servers: [{ port: { number: 443, name: "https", protocol: "HTTPS" }, hosts: ["*"], tls }],
});

const names = (resources: ReturnType<typeof proxyResources>): Record<string, readonly string[]> =>
  Object.fromEntries(
    [...resources].map(([type, found]) => [type.slice(type.lastIndexOf(".") + 1), found.map(({ name }) => name)]),
  );

describe("proxyResources", () => {
  it("returns clusters and listeners, and the endpoints and routes that these reference", () => {
    const database = meshOf(service("cart") + pod("web", { "security.istio.io/tlsMode": "istio" }));
    const found = names(proxyResources(database, proxyNamed(database, "web.shop")));
    expect(found["Cluster"]).toContain(`outbound|80||${cart}`);
    expect(found["Cluster"]).toContain("PassthroughCluster");
    expect(found["ClusterLoadAssignment"]).toEqual([`outbound|80||${cart}`]);
    expect(found["Listener"]).toEqual(expect.arrayContaining(["0.0.0.0_80", "virtualOutbound", "virtualInbound"]));
    expect(found["RouteConfiguration"]).toEqual(["80"]);
    expect(found["Secret"]).toEqual([]);
  });

  it("returns the secrets that a gateway references", () => {
    const database = meshOf(service("cart") + secret + gateway + pod("gw", { app: "gw" }));
    const found = names(proxyResources(database, proxyNamed(database, "gw.shop")));
    expect(found["Listener"]).toEqual(["0.0.0.0_443"]);
    expect(found["Secret"]).toEqual(["kubernetes://front"]);
  });
});
