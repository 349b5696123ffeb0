import {
  type Answered,
  type Application,
  type CallOptions,
  callHttp2,
  certificateFor,
  eventually,
  type Mesh,
  startApplication,
  startMesh,
  type TestCertificates,
  whyNoEnvoy,
} from "@istiod/e2e";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { gateway, grant, httpRoute, otherRoutes } from "./gateway-api/objects.js";

const reason = await whyNoEnvoy();
const ports = [8080, 8443, 8444, 8445, 8446].map((port) => ({ name: `port-${port}`, port }));

describe("traffic of the Gateway API", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: Mesh;
  let shop: TestCertificates;
  let vault: TestCertificates;
  let ledger: Application;
  beforeAll(async () => {
    if (reason) return;
    [shop, vault] = await Promise.all([certificateFor("shop.example"), certificateFor("vault.example")]);
    const failed = new Map<string, number>();
    mesh = await startMesh({
      objects: [gateway(shop), httpRoute, otherRoutes].join("---"),
      workloads: [
        { app: "ingress", namespace: "edge", proxy: "router", ports },
        {
          app: "cart",
          proxy: "none",
          answer: ({ path }) => {
            if (path.startsWith("/slow")) return { afterMs: 2000 };
            const times = failed.get(path) ?? 0;
            if (!path.startsWith("/flaky") || times === 2) return { headers: { "x-internal": "yes" } };
            failed.set(path, times + 1);
            return { status: 503 };
          },
        },
        { app: "beta", proxy: "none" },
        { app: "vault", proxy: "none", portName: "tls", tls: vault.server },
        { app: "ledger", proxy: "none", portName: "grpc", servesItself: true },
        { app: "private", namespace: "certificates", proxy: "none" },
      ],
    });
    ledger = await startApplication({
      name: "ledger",
      address: mesh.workload("ledger").address,
      port: 8000,
      http2: true,
    });
  }, 60_000);
  afterAll(async () => {
    await ledger?.close();
    await mesh?.close();
  });

  const ask = (path: string, options?: CallOptions): Promise<Answered> =>
    mesh.enter("ingress", `http://shop.example:8080${path}`, options);

  it("modifies headers of requests and responses", async () => {
    const { status, seen, headers } = await ask("/headers", {
      headers: { "x-set": "client", "x-added": "one", "x-secret": "s" },
    });
    expect([status, seen?.workload, seen?.headers["x-set"]]).toEqual([200, "cart", "gateway"]);
    expect([seen?.headers["x-added"], seen?.headers["x-secret"]]).toEqual(["one, more", undefined]);
    expect([headers["x-served"], headers["x-internal"]]).toEqual(["gateway", undefined]);
  });

  it("redirects", async () => {
    const { status, headers } = await ask("/moved/a?b=c");
    expect([status, headers.location]).toEqual([302, "https://new.example:8443/here/a?b=c"]);
  });

  it("rewrites the prefix, the whole path, and the host", async () => {
    const { seen } = await ask("/prefix/a?b=c");
    expect([seen?.path, seen?.headers.host]).toEqual(["/a?b=c", "inner.example"]);
    expect((await ask("/prefix")).seen?.path).toBe("/");
    const whole = (await ask("/whole/a")).seen;
    expect([whole?.path, whole?.headers.host]).toEqual(["/all", "shop.example:8080"]);
  });

  it("mirrors each request", async () => {
    expect((await ask("/mirrored/1")).seen?.workload).toBe("cart");
    await eventually("the mirror has the request", async () =>
      mesh.seen("beta").some(({ path }) => path === "/mirrored/1"),
    );
  });

  it("answers preflight requests of the origins that CORS allows", async () => {
    const preflight = async (origin: string): Promise<Answered["headers"]> =>
      (await ask("/cors", { method: "OPTIONS", headers: { origin, "access-control-request-method": "PUT" } })).headers;
    expect(await preflight("https://app.example")).toMatchObject({
      "access-control-allow-origin": "https://app.example",
      "access-control-allow-methods": "PUT",
      "access-control-allow-headers": "x-token",
      "access-control-max-age": "60",
    });
    expect((await preflight("https://evil.example"))["access-control-allow-origin"]).toBeUndefined();
  });

  it("ends a request at its timeout", async () => {
    expect((await ask("/slow")).status).toBe(504);
  });

  it("retries as often as the rule says, and not otherwise", async () => {
    expect((await ask("/flaky/retried")).status).toBe(200);
    expect((await ask("/flaky/once")).status).toBe(503);
    const reached = (path: string): number => mesh.seen("cart").filter((seen) => seen.path === path).length;
    expect([reached("/flaky/retried"), reached("/flaky/once")]).toEqual([3, 1]);
  });

  it("splits by weights", async () => {
    const counts: Record<string, number> = {};
    for (let n = 0; n < 200; n++) {
      const { status, seen } = await ask("/split");
      expect(status).toBe(200);
      counts[seen?.workload ?? ""] = (counts[seen?.workload ?? ""] ?? 0) + 1;
    }
    expect(Object.keys(counts).toSorted()).toEqual(["beta", "cart"]);
    // 150 ± 6 standard deviations.
    expect(Math.abs((counts["cart"] ?? 0) - 150)).toBeLessThan(37);
  });

  it("rewrites the path for each backend, by its weight", async () => {
    const counts: Record<string, number> = {};
    for (let n = 0; n < 200; n++) {
      const { status, seen } = await ask("/paths/x?q=1");
      expect(status).toBe(200);
      const what = `${seen?.workload} ${seen?.path}`;
      counts[what] = (counts[what] ?? 0) + 1;
      if (seen?.workload === "beta") expect(seen.headers["host"]).toBe("beta.example");
    }
    expect(Object.keys(counts).toSorted()).toEqual(["beta /beta/x?q=1", "cart /cart?q=1"]);
    expect(Math.abs((counts["cart /cart?q=1"] ?? 0) - 150)).toBeLessThan(37);
  });

  it("matches paths, methods, headers and parameters", async () => {
    const post = { method: "POST", headers: { "x-kind": "a" } };
    expect((await ask("/matched?q=1", post)).status).toBe(200);
    expect((await ask("/number/42")).status).toBe(200);
    const others = [
      ask("/matched?q=1", { headers: post.headers }),
      ask("/matched?q=1", { method: "POST" }),
      ask("/matched?q=2", post),
      ask("/matched/more?q=1", post),
      ask("/number/x"),
      mesh.enter("ingress", "http://other.example:8080/matched?q=1", post),
    ];
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual(others.map(() => 404));
  });

  it("answers 500 for a backend of another namespace without a grant", async () => {
    expect((await ask("/ungranted")).status).toBe(500);
    expect(mesh.seen("private")).toEqual([]);
  });

  it("passes TLS through by name, unopened", async () => {
    const enter = (host: string): Promise<Answered> =>
      mesh.enter("ingress", `https://${host}:8444/secret`, { tls: { ca: vault.root } });
    const { status, seen, certificate } = await enter("vault.example");
    expect([status, seen?.workload, seen?.path]).toEqual([200, "vault", "/secret"]);
    expect(certificate?.subjectAltName).toBe("DNS:vault.example");
    await expect(enter("other.example")).rejects.toThrow();
  });

  it("forwards the bytes of TCP unchanged", async () => {
    const { status, seen } = await mesh.enter("ingress", "http://any.example:8446/raw");
    expect([status, seen?.workload, seen?.headers["x-request-id"]]).toEqual([200, "beta", undefined]);
  });

  it("routes gRPC by service, method and header", async () => {
    const enter = (path: string, tenant: string): ReturnType<typeof callHttp2> =>
      callHttp2(mesh.workload("ingress").address, `http://ledger.example:8080${path}`, {
        headers: { ":method": "POST", "content-type": "application/grpc", te: "trailers", "x-tenant": tenant },
      });
    const { status, seen } = await enter("/shop.Ledger/Read", "one");
    expect([status, seen?.workload, seen?.headers["x-rule"]]).toEqual([200, "ledger", "read"]);
    // 12 is UNIMPLEMENTED.
    for (const [path, tenant] of [
      ["/shop.Ledger/Write", "one"],
      ["/shop.Ledger/Read", "two"],
    ] as const)
      expect((await enter(path, tenant)).headers["grpc-status"]).toBe("12");
  });

  it("ends TLS with a certificate of another namespace once a ReferenceGrant permits it, and no longer", async () => {
    const enter = (port: number): Promise<Answered> =>
      mesh.enter("ingress", `https://shop.example:${port}/headers`, { tls: { ca: shop.root } });
    await expect(enter(8443)).rejects.toThrow();
    await expect(enter(8445)).rejects.toThrow();
    try {
      await mesh.apply("grant", grant);
      const [https, ended] = await Promise.all([enter(8443), enter(8445)]);
      expect([https.status, https.seen?.workload, https.seen?.headers["x-set"]]).toEqual([200, "cart", "gateway"]);
      expect([ended.status, ended.seen?.workload, ended.seen?.headers["x-set"]]).toEqual([200, "beta", undefined]);
      for (const { certificate } of [https, ended]) expect(certificate?.subjectAltName).toBe("DNS:shop.example");
    } finally {
      await mesh.apply("grant", "---\n");
    }
    await expect(enter(8443)).rejects.toThrow();
    await expect(enter(8445)).rejects.toThrow();
  });

  it("was configured by what the proxy accepted whole", () => {
    expect(mesh.refusals()).toEqual([]);
  });
});
