import { Resolver } from "node:dns/promises";
import { writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { certificateFor, eventually, type Mesh, startMesh, type TestCertificates, whyNoEnvoy } from "@istiod/e2e";

const reason = await whyNoEnvoy();

const objects = (certificates: string, port: number): string => `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: static, namespace: shop}
spec:
  hosts: [static.example]
  addresses: [192.0.2.10]
  location: MESH_EXTERNAL
  ports: [{number: 8000, name: http, protocol: HTTP}]
  resolution: STATIC
  endpoints:
  - address: "{{plain}}"
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: dns, namespace: shop}
spec:
  hosts: [dns.example]
  location: MESH_EXTERNAL
  ports: [{number: 8000, name: http, protocol: HTTP}]
  resolution: DNS
  endpoints:
  - address: localhost
    ports: {http: ${port}}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: secure, namespace: shop}
spec:
  hosts: [secure.example, impostor.example]
  location: MESH_EXTERNAL
  ports: [{number: 8000, name: http, protocol: HTTP, targetPort: 8000}]
  resolution: STATIC
  endpoints:
  - address: "{{secure}}"
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: secure, namespace: shop}
spec:
  host: secure.example
  trafficPolicy:
    tls: {mode: SIMPLE, sni: secure.example, caCertificates: ${certificates}/root.pem, subjectAltNames: [secure.example]}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: impostor, namespace: shop}
spec:
  host: impostor.example
  trafficPolicy:
    tls: {mode: SIMPLE, sni: impostor.example, caCertificates: ${certificates}/root.pem, subjectAltNames: [impostor.example]}
`;

describe("a service outside the mesh", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: Mesh;
  let local: Server;
  let secure: TestCertificates;
  beforeAll(async () => {
    if (reason) return;
    secure = await certificateFor("secure.example");
    local = createServer((_, response) => response.end("found by its name"));
    await new Promise<void>((resolve) => local.listen(0, "127.0.0.1", resolve));
    mesh = await startMesh({
      workloads: [
        {
          app: "client",
          env: { ISTIO_META_DNS_CAPTURE: "true", DNS_PROXY_ADDR: "{{address}}:15053" },
          sidecar: { outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } },
        },
        { app: "plain", proxy: "none", namespace: "outside" },
        { app: "secure", proxy: "none", namespace: "outside", tls: secure.server },
      ],
    });
    await writeFile(join(mesh.work, "root.pem"), secure.root);
    await mesh.apply("objects", objects(mesh.work, (local.address() as AddressInfo).port));
  }, 90_000);
  afterAll(async () => {
    local?.close();
    await mesh?.close();
  });

  it("is reached at the addresses that a ServiceEntry gives", async () => {
    const answer = await eventually("the service is known", async () => {
      const { status, seen } = await mesh.call("client", "http://static.example:8000/");
      return status === 200 && seen;
    });
    expect(answer.workload).toBe("plain");
    expect(answer.peer).toBe("");
  });

  it("is reached at the addresses that DNS gives", async () => {
    await eventually(
      "its name is resolved",
      async () => (await mesh.call("client", "http://dns.example:8000/")).text === "found by its name",
    );
  });

  it("is not reached under REGISTRY_ONLY where nothing names it", async () => {
    expect((await mesh.call("client", "http://unknown.example:8000/")).status).toBe(502);
  });

  it("is spoken TLS to, for an application that speaks plaintext", async () => {
    const { status, seen } = await mesh.call("client", "http://secure.example:8000/page");
    expect([status, seen?.workload, seen?.path]).toEqual([200, "secure", "/page"]);
  });

  it("is not believed with another's certificate", async () => {
    const { status, text } = await mesh.call("client", "http://impostor.example:8000/");
    expect(status).toBe(503);
    expect(text).toContain("upstream connect error");
    expect(mesh.seen("secure").map((s) => s.headers.host)).not.toContain("impostor.example:8000");
  });

  it("was configured by what the proxies accepted whole", () => {
    expect(mesh.refusals()).toEqual([]);
  });

  describe("asked for by name", () => {
    const resolver = new Resolver({ timeout: 2000 });
    beforeAll(() => resolver.setServers(mesh ? [`${mesh.workload("client").address}:15053`] : []));

    it("has the address of its ServiceEntry, from the agent's DNS", async () => {
      expect(await resolver.resolve4("static.example")).toEqual(["192.0.2.10"]);
    });

    it("is a service of the mesh by its short name too", async () => {
      const [address] = await resolver.resolve4("client");
      expect(address).toMatch(/^10\./);
      expect(await resolver.resolve4("client.shop.svc.cluster.local")).toEqual([address]);
    });
  });
});
