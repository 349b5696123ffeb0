import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { eventually, type Mesh, startMesh, whyNoEnvoy } from "@istiod/e2e";

const reason = await whyNoEnvoy();

const objects = `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart, namespace: shop}
spec:
  hosts: [cart]
  http:
  - match: [{uri: {prefix: /by-header}, headers: {x-user: {regex: "j.*n"}}, method: {exact: GET}}]
    route: [{destination: {host: cart, subset: v2}, headers: {request: {set: {x-chosen: "yes"}}, response: {add: {x-by: istiod}}}}]
  - match: [{uri: {prefix: /by-query}, queryParams: {beta: {exact: "1"}}}]
    route: [{destination: {host: cart, subset: v2}}]
  - match: [{uri: {exact: /moved}}]
    redirect: {uri: /new-place, authority: elsewhere.example, redirectCode: 308}
  - match: [{uri: {prefix: /old/}}]
    rewrite: {uri: /new/, authority: renamed.example}
    route: [{destination: {host: cart, subset: v1}}]
  - match: [{uri: {regex: "/items/[0-9]+"}}]
    rewrite: {uriRegexRewrite: {match: "/items/([0-9]+)", rewrite: "/things?id=\\\\1"}}
    route: [{destination: {host: cart, subset: v1}}]
  - match: [{uri: {exact: /teapot}}]
    directResponse: {status: 418, body: {string: short and stout}}
  - match: [{uri: {prefix: /mirrored}}]
    route: [{destination: {host: cart, subset: v1}}]
    mirrors: [{destination: {host: shadow}, percentage: {value: 100}}]
  - route: [{destination: {host: cart, subset: v1}}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: cart, namespace: shop}
spec:
  host: cart
  subsets:
  - name: v1
    labels: {version: v1}
  - name: v2
    labels: {version: v2}
`;

describe("a request", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: Mesh;
  beforeAll(async () => {
    if (reason) return;
    const workloads = [
      { app: "client" },
      { app: "cart", version: "v1" },
      { app: "cart", version: "v2" },
      { app: "shadow" },
    ];
    mesh = await startMesh({ objects, workloads });
  }, 90_000);
  afterAll(() => mesh?.close());

  it("goes where its header says, and carries the headers of that route", async () => {
    const jason = await mesh.call("client", "http://cart:8000/by-header", { headers: { "x-user": "jason" } });
    expect([jason.seen?.version, jason.seen?.headers["x-chosen"], jason.headers["x-by"]]).toEqual([
      "v2",
      "yes",
      "istiod",
    ]);
    const others = [{ headers: { "x-user": "james" } }, {}, { headers: { "x-user": "jason" }, method: "POST" }];
    for (const options of others) {
      const { seen } = await mesh.call("client", "http://cart:8000/by-header", options);
      expect([seen?.version, seen?.headers["x-chosen"]]).toEqual(["v1", undefined]);
    }
  });

  it("goes where its query says", async () => {
    expect((await mesh.call("client", "http://cart:8000/by-query?beta=1")).seen?.version).toBe("v2");
    expect((await mesh.call("client", "http://cart:8000/by-query?beta=2")).seen?.version).toBe("v1");
  });

  it("is redirected", async () => {
    const { status, headers } = await mesh.call("client", "http://cart:8000/moved");
    expect([status, headers.location]).toEqual([308, "http://elsewhere.example/new-place"]);
  });

  it("is rewritten, by prefix and by expression", async () => {
    const { seen } = await mesh.call("client", "http://cart:8000/old/book?x=1");
    expect([seen?.path, seen?.headers.host]).toEqual(["/new/book?x=1", "renamed.example"]);
    expect((await mesh.call("client", "http://cart:8000/items/42")).seen?.path).toBe("/things?id=42");
  });

  it("is answered by the proxy itself", async () => {
    const { status, text } = await mesh.call("client", "http://cart:8000/teapot");
    expect([status, text]).toEqual([418, "short and stout"]);
  });

  it("is mirrored, and the mirror's answer is not waited for", async () => {
    const { seen } = await mesh.call("client", "http://cart:8000/mirrored/1");
    expect(seen?.workload).toBe("cart-v1");
    const shadow = await eventually("the mirror is asked", () => mesh.seen("shadow")[0]);
    expect([shadow.path, shadow.headers.host]).toEqual(["/mirrored/1", "cart:8000"]);
    await mesh.call("client", "http://cart:8000/not-mirrored");
    expect(mesh.seen("shadow")).toHaveLength(1);
  });

  it("finds its service by every name that it has", async () => {
    for (const host of ["cart", "cart.shop", "cart.shop.svc", "cart.shop.svc.cluster.local"]) {
      expect((await mesh.call("client", `http://${host}:8000/`)).seen?.workload).toBe("cart-v1");
    }
  });

  it("was routed by what the proxies accepted whole", () => {
    expect(mesh.refusals()).toEqual([]);
  });
});
