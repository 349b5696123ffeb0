import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { CertificateAuthority, DirectoryRootStore, issueServingCertificate, selfSignedBundle } from "@istiod/ca";
import { eventually, type Mesh, startMesh, whyNoEnvoy } from "@istiod/e2e";

const reason = await whyNoEnvoy();
const run = promisify(execFile);

const mode = (of: string, is: string): string => `
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: ${of}, namespace: shop}
spec:
  selector: {matchLabels: {app: ${of}}}
  mtls: {mode: ${is}}
`;

describe("mutual TLS", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: Mesh;
  beforeAll(async () => {
    if (reason) return;
    mesh = await startMesh({
      objects: mode("strict", "STRICT") + "---" + mode("permissive", "PERMISSIVE"),
      workloads: [
        { app: "client", env: { SECRET_TTL: "8s" } },
        { app: "strict", env: { SECRET_TTL: "8s" } },
        { app: "permissive", env: { OUTPUT_CERTS: "certs" } },
        { app: "legacy", proxy: "none" },
      ],
    });
  }, 90_000);
  afterAll(() => mesh?.close());

  /** A workload's key and certificate, as its agent wrote them. */
  const identityOfPermissive = async (): Promise<{ key: string; cert: string; ca: string }> => {
    const [key = "", cert = "", ca = ""] = await Promise.all(
      ["key.pem", "cert-chain.pem", "root-cert.pem"].map((f) =>
        readFile(join(mesh.work, "agents", "permissive", "certs", f), "utf8"),
      ),
    );
    return { key, cert, ca };
  };

  it("carries a call with the caller's identity, where both have a proxy", async () => {
    for (const app of ["strict", "permissive"]) {
      const { status, seen } = await mesh.call("client", `http://${app}:8000/`);
      expect(status).toBe(200);
      expect(seen?.peer).toBe("spiffe://cluster.local/ns/shop/sa/client");
    }
  });

  it("is not spoken to a workload without a proxy", async () => {
    const { status, seen } = await mesh.call("client", "http://legacy:8000/");
    expect(status).toBe(200);
    expect(seen?.peer).toBe("");
  });

  it("refuses plaintext under STRICT", async () => {
    await expect(mesh.enter("strict", "http://strict:8000/")).rejects.toThrow();
    expect(mesh.seen("strict").every((s) => s.peer !== "")).toBe(true);
  });

  it("refuses a caller without a certificate under STRICT", async () => {
    const { ca } = await identityOfPermissive();
    await expect(mesh.enter("strict", "https://strict:8000/", { tls: { ca, anyName: true } })).rejects.toThrow();
  });

  it("accepts a certificate of its own root for its own trust domain, and for no other", async () => {
    const root = await new DirectoryRootStore(join(mesh.work, "ca")).load();
    if (root === undefined) throw new Error("istiod has no root");
    const authority = new CertificateAuthority({ bundle: selfSignedBundle(root, "ca", Date.now()) });
    const enter = async (name: string) => {
      const { key, cert } = await issueServingCertificate(authority, [name], 3_600_000, Date.now());
      return mesh.enter("strict", "https://strict:8000/", {
        tls: { key, cert, ca: root.certificate, anyName: true },
      });
    };
    const own = await enter("spiffe://cluster.local/ns/shop/sa/client");
    expect([own.status, own.seen?.peer]).toEqual([200, "spiffe://cluster.local/ns/shop/sa/client"]);
    const before = mesh.seen("strict").length;
    await expect(enter("spiffe://other.example/ns/shop/sa/client")).rejects.toThrow();
    await expect(enter("spiffe://cluster.local.example/ns/shop/sa/client")).rejects.toThrow();
    expect(mesh.seen("strict")).toHaveLength(before);
  });

  it("takes plaintext and mutual TLS under PERMISSIVE", async () => {
    const { status, seen } = await mesh.enter("permissive", "http://permissive:8000/");
    expect(status).toBe(200);
    expect(seen?.peer).toBe("");
  });

  it("shows a chain that openssl verifies, with the workload's SPIFFE ID as its only name", async () => {
    const identity = await identityOfPermissive();
    const { seen, certificate } = await mesh.enter("strict", "https://strict:8000/", {
      tls: { ...identity, anyName: true },
    });
    expect(seen?.peer).toBe("spiffe://cluster.local/ns/shop/sa/permissive");
    expect(certificate?.subjectAltName).toBe("URI:spiffe://cluster.local/ns/shop/sa/strict");
    const [leaf, root] = [join(mesh.work, "leaf.pem"), join(mesh.work, "root.pem")];
    await writeFile(leaf, certificate!.toString());
    await writeFile(root, identity.ca);
    expect((await run("openssl", ["verify", "-purpose", "sslserver", "-CAfile", root, leaf])).stdout).toContain(
      "leaf.pem: OK",
    );
  });

  it("follows a change from PERMISSIVE to STRICT and back", async () => {
    await mesh.apply("mode", mode("permissive", "STRICT").replace("name: permissive", "name: another"));
    await mesh.apply("objects", mode("strict", "STRICT"));
    await eventually("plaintext is refused", () =>
      mesh.enter("permissive", "http://permissive:8000/").then(
        () => false,
        () => true,
      ),
    );
    expect((await mesh.call("client", "http://permissive:8000/")).status).toBe(200);
    await mesh.apply("mode", mode("permissive", "PERMISSIVE"));
    await eventually(
      "plaintext is taken",
      async () => (await mesh.enter("permissive", "http://permissive:8000/")).status === 200,
    );
  });

  it("renews certificates while requests flow, and none fails", async () => {
    const identity = await identityOfPermissive();
    const serials = new Set<string>();
    let requests = 0;
    const started = Date.now();
    while (serials.size < 3 && Date.now() - started < 40_000) {
      const { certificate } = await mesh.enter("strict", "https://strict:8000/", {
        tls: { ...identity, anyName: true },
      });
      serials.add(certificate!.serialNumber);
      const answers = await Promise.all(Array.from({ length: 5 }, () => mesh.call("client", "http://strict:8000/")));
      for (const { status, seen } of answers)
        expect([status, seen?.peer]).toEqual([200, "spiffe://cluster.local/ns/shop/sa/client"]);
      requests += answers.length;
    }
    expect(serials.size).toBe(3);
    expect(requests).toBeGreaterThan(50);
  }, 60_000);

  it("was accepted whole", () => {
    expect(mesh.refusals()).toEqual([]);
  });
});
