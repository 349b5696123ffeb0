import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { mint, type Minted, mintRevocationList } from "@istiod/ca/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { certificateFor, eventually, type Mesh, startMesh, type TestCertificates, whyNoEnvoy } from "@istiod/e2e";

const reason = await whyNoEnvoy();
const base64 = (text: string): string => Buffer.from(text).toString("base64");

const ingress = ({ server }: TestCertificates): string => `
apiVersion: v1
kind: Secret
metadata: {name: shop-certificate, namespace: edge}
type: kubernetes.io/tls
data:
  tls.crt: ${base64(server.cert)}
  tls.key: ${base64(server.key)}
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: ingress, namespace: edge}
spec:
  selector: {app: ingress}
  servers:
  - port: {number: 8080, protocol: HTTP, name: http}
    bind: "{{ingress}}"
    hosts: [shop.example]
  - port: {number: 8081, protocol: HTTP, name: http-redirect}
    bind: "{{ingress}}"
    hosts: [shop.example]
    tls: {httpsRedirect: true}
  - port: {number: 8443, protocol: HTTPS, name: https}
    bind: "{{ingress}}"
    hosts: [shop.example]
    tls: {mode: SIMPLE, credentialName: shop-certificate}
  - port: {number: 8443, protocol: TLS, name: tls-through}
    bind: "{{ingress}}"
    hosts: [vault.example]
    tls: {mode: PASSTHROUGH}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: shop, namespace: shop}
spec:
  hosts: [shop.example]
  gateways: [edge/ingress]
  http:
  - match: [{uri: {prefix: /cart}}]
    route: [{destination: {host: cart}}]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: vault, namespace: shop}
spec:
  hosts: [vault.example]
  gateways: [edge/ingress]
  tls:
  - match: [{port: 8443, sniHosts: [vault.example]}]
    route: [{destination: {host: vault}}]
`;

const egress = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: outside, namespace: shop}
spec:
  hosts: [outside.example]
  location: MESH_EXTERNAL
  ports: [{number: 8000, name: http, protocol: HTTP}]
  resolution: STATIC
  endpoints: [{address: "{{outside}}"}]
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: egress, namespace: shop}
spec:
  selector: {app: egress}
  servers:
  - port: {number: 8000, protocol: HTTPS, name: https}
    bind: "{{egress}}"
    hosts: [outside.example]
    tls: {mode: ISTIO_MUTUAL}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: egress, namespace: shop}
spec:
  host: egress.edge.svc.cluster.local
  subsets:
  - name: outside
    trafficPolicy:
      tls: {mode: ISTIO_MUTUAL, sni: outside.example}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: outside, namespace: shop}
spec:
  hosts: [outside.example]
  gateways: [mesh, egress]
  http:
  - match: [{gateways: [mesh]}]
    route: [{destination: {host: egress.edge.svc.cluster.local, subset: outside, port: {number: 8000}}}]
  - match: [{gateways: [egress]}]
    route: [{destination: {host: outside.example, port: {number: 8000}}, headers: {request: {set: {x-left-by: egress}}}}]
`;

/** Servers of another namespace at the port of the gateway, with files of the gateway's agent. */
const withFiles = `
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: files, namespace: shop}
spec:
  selector: {app: ingress}
  servers:
  - port: {number: 8443, protocol: HTTPS, name: https-pair}
    bind: "{{ingress}}"
    hosts: [pair.example]
    tls: {mode: SIMPLE, serverCertificate: late/cert.pem, privateKey: late/key.pem}
  - port: {number: 8443, protocol: HTTPS, name: https-roots}
    bind: "{{ingress}}"
    hosts: [roots.example]
    tls: {mode: MUTUAL, serverCertificate: own/cert.pem, privateKey: own/key.pem, caCertificates: late/root.pem}
  - port: {number: 8443, protocol: HTTPS, name: https-lists}
    bind: "{{ingress}}"
    hosts: [lists.example]
    tls: {mode: MUTUAL, serverCertificate: own/cert.pem, privateKey: own/key.pem, caCertificates: own/clients.pem, caCrl: late/crl.pem}
  - port: {number: 8443, protocol: HTTPS, name: https-name}
    bind: "{{ingress}}"
    hosts: [name.example]
    tls: {mode: SIMPLE, serverCertificate: late/a~b.pem, privateKey: late/key.pem}
  - port: {number: 8443, protocol: HTTPS, name: https-own}
    bind: "{{ingress}}"
    hosts: [own.example]
    tls: {mode: SIMPLE, serverCertificate: own/cert.pem, privateKey: own/key.pem}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: files, namespace: shop}
spec:
  hosts: [pair.example, roots.example, lists.example, name.example, own.example]
  gateways: [files]
  http: [{route: [{destination: {host: cart}}]}]
`;

describe("a gateway", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: Mesh;
  let shop: TestCertificates;
  let vault: TestCertificates;
  let own: TestCertificates;
  let clients: { readonly root: Minted; readonly valid: Minted; readonly revoked: Minted };
  beforeAll(async () => {
    if (reason) return;
    [shop, vault, own] = (await Promise.all(
      ["shop", "vault", "own"].map((name) => certificateFor(`${name}.example`)),
    )) as [TestCertificates, TestCertificates, TestCertificates];
    const root = await mint({ ca: true, subject: "CN=clients" });
    clients = { root, valid: await mint({ issuer: root }), revoked: await mint({ issuer: root }) };
    mesh = await startMesh({
      objects: ingress(shop) + "---" + egress,
      workloads: [
        { app: "client" },
        { app: "cart" },
        { app: "vault", proxy: "none", portName: "tls", tls: vault.server },
        {
          app: "ingress",
          proxy: "router",
          namespace: "edge",
          files: {
            "own/cert.pem": own.server.cert,
            "own/key.pem": own.server.key,
            "own/clients.pem": root.pem,
          },
        },
        { app: "egress", proxy: "router", namespace: "edge" },
        { app: "outside", proxy: "none", namespace: "outside" },
      ],
    });
  }, 90_000);
  afterAll(() => mesh?.close());

  it("lets in what a VirtualService routes, and nothing else", async () => {
    const { status, seen } = await mesh.enter("ingress", "http://shop.example:8080/cart/1");
    expect([status, seen?.workload, seen?.path]).toEqual([200, "cart", "/cart/1"]);
    expect(seen?.peer).toBe("spiffe://cluster.local/ns/edge/sa/ingress");
    expect((await mesh.enter("ingress", "http://shop.example:8080/other")).status).toBe(404);
    expect((await mesh.enter("ingress", "http://other.example:8080/cart/1")).status).toBe(404);
  });

  it("sends plaintext to HTTPS where it is told to", async () => {
    const { status, headers } = await mesh.enter("ingress", "http://shop.example:8081/cart/1");
    expect([status, headers.location]).toEqual([301, "https://shop.example:8081/cart/1"]);
  });

  it("ends TLS with the certificate of its Secret", async () => {
    const { status, seen, certificate } = await mesh.enter("ingress", "https://shop.example:8443/cart/2", {
      tls: { ca: shop.root },
    });
    expect([status, seen?.workload]).toEqual([200, "cart"]);
    expect(certificate?.subjectAltName).toBe("DNS:shop.example");
  });

  it("passes TLS through to the server that its name says, unopened", async () => {
    const { status, seen, certificate } = await mesh.enter("ingress", "https://vault.example:8443/secret", {
      tls: { ca: vault.root },
    });
    expect([status, seen?.workload]).toEqual([200, "vault"]);
    expect(certificate?.subjectAltName).toBe("DNS:vault.example");
    await expect(mesh.enter("ingress", "https://nobody.example:8443/", { tls: { ca: vault.root } })).rejects.toThrow();
  });

  it("lets out what is routed through it, from callers that it knows", async () => {
    const { status, seen } = await mesh.call("client", "http://outside.example:8000/page");
    expect([status, seen?.workload, seen?.headers["x-left-by"]]).toEqual([200, "outside", "egress"]);
    await expect(mesh.enter("egress", "http://outside.example:8000/page")).rejects.toThrow();
  });

  it("does not wait for certificate files that do not exist, and serves them once they do", async () => {
    await mesh.apply("files.yaml", withFiles);
    const enter = async (host: string, tls: object): Promise<number> =>
      (await mesh.enter("ingress", `https://${host}:8443/`, { tls: { anyName: true, ...tls } })).status;
    // Envoy's own timeout is 15 s.
    await eventually(
      "the neighbors' server is reached",
      async () => (await enter("own.example", { ca: own.root })) === 200,
      8000,
    );
    expect(await enter("shop.example", { ca: shop.root })).toBe(404);
    for (const host of ["pair.example", "roots.example", "lists.example", "name.example"])
      await expect(enter(host, { isUnverified: true })).rejects.toThrow();
    await expect(enter("roots.example", { isUnverified: true, ...own.server })).rejects.toThrow();
    const as = ({ pem, keyPem }: Minted) => ({ isUnverified: true, cert: pem, key: keyPem });
    await expect(enter("lists.example", as(clients.valid))).rejects.toThrow();

    await mesh.apply("files.yaml", withFiles.replaceAll("own.example", "renamed.example"));
    await eventually(
      "a later change of the listener is reached",
      async () => (await enter("renamed.example", { ca: own.root })) === 200,
      8000,
    );

    const late = join(mesh.work, "agents", "ingress", "late");
    await mkdir(late);
    const { serialNumber } = clients.revoked.certificate;
    await Promise.all([
      writeFile(join(late, "crl.pem"), await mintRevocationList(clients.root, { revoked: [serialNumber] })),
      writeFile(join(late, "cert.pem"), shop.server.cert),
      writeFile(join(late, "key.pem"), shop.server.key),
      writeFile(join(late, "root.pem"), own.root),
    ]);
    await eventually(
      "the files are served",
      async () => (await enter("pair.example", { ca: shop.root })) === 200,
      20_000,
    );
    await eventually(
      "the roots are used",
      async () => (await enter("roots.example", { ca: own.root, ...own.server })) === 200,
      20_000,
    );
    await expect(enter("roots.example", { ca: own.root })).rejects.toThrow();
    await eventually(
      "the revocation list is used",
      async () => (await enter("lists.example", as(clients.valid))) === 200,
      20_000,
    );
    await expect(enter("lists.example", as(clients.revoked))).rejects.toThrow();
    await writeFile(join(late, "crl.pem"), await mintRevocationList(clients.root));
    await eventually(
      "a later list is used without a change of the configuration",
      async () => (await enter("lists.example", as(clients.revoked))) === 200,
      20_000,
    );
  }, 60_000);

  it("was configured by what the proxies accepted whole", () => {
    expect(mesh.refusals()).toEqual([]);
  });
});
