import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { statusCommand } from "@istiod/commands";
import { describe, expect, it } from "vitest";
import { offlineMeshes } from "../src/offline-mesh.js";
import { folder } from "./serving.js";

const gateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: shop}
spec:
  gatewayClassName: istio
  listeners:
  - {name: http, port: 80, protocol: HTTP, hostname: "*.example.com"}
`;
const foreign = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: other, namespace: shop}
spec:
  gatewayClassName: nginx
  listeners: [{name: http, port: 80, protocol: HTTP}]
`;
const service = `
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {ports: [{name: http, port: 80}]}
`;
const route = (name: string, { host = "cart.example.com", parent = "web", backend = "cart" } = {}): string => `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: ${name}, namespace: shop}
spec:
  parentRefs: [{name: ${parent}}]
  hostnames: [${host}]
  rules: [{backendRefs: [{name: ${backend}, port: 80}]}]
`;

async function status(objects: readonly string[], ...args: readonly string[]) {
  const root = await folder({});
  await mkdir(join(root, "config"));
  await writeFile(join(root, "config", "objects.yaml"), objects.join("---"));
  let out = "";
  let exit: number | undefined;
  const command = statusCommand(offlineMeshes({}), {
    print: (text) => (out += text),
    warn: (text) => (out += text.replaceAll(root, "")),
    exit: (code) => (exit = code),
  });
  await command.parseAsync([...args, "--configDir", join(root, "config")], { from: "user" });
  return { out, exit };
}

describe("istiod status --configDir", () => {
  it("passes for objects that are accepted, with the routes of each listener", async () => {
    expect(await status([gateway, service, route("cart")])).toEqual({
      out: expect.stringMatching(/^Gateway\/shop\/web: accepted; routes: http: 1\nHTTPRoute\/shop\/cart: accepted\n$/m),
      exit: 0,
    });
  });

  it("fails for a route that no listener accepts, with the reason", async () => {
    const { out, exit } = await status([gateway, service, route("cart", { host: "cart.org" })]);
    expect(exit).toBe(3);
    expect(out).toContain(
      'HTTPRoute/shop/cart: not accepted\n  parent Gateway web: Accepted is False: NoMatchingListenerHostname: no hostnames matched parent hostname "*.example.com"\n',
    );
    expect(out).toContain("routes: http: 0");
  });

  it("fails for a backend that does not exist", async () => {
    const { out, exit } = await status([gateway, route("cart")]);
    expect(exit).toBe(4);
    expect(out).toContain("  parent Gateway web: ResolvedRefs is False: BackendNotFound: ");
  });

  it("fails for a route without a parent, and not for Gateways of other controllers", async () => {
    const { out, exit } = await status([foreign, service, route("cart", { parent: "none" })]);
    expect(exit).toBe(4);
    expect(out).toContain("Gateway/shop/other: not served by istiod\n");
    expect(out).toContain(
      "HTTPRoute/shop/cart: not attached: istiod serves none of its parentRefs\n  not attached: there is no Gateway shop/none\n",
    );
    expect((await status([foreign])).exit).toBe(0);
  });

  it("fails for objects that are rejected, with file and field", async () => {
    const { out, exit } = await status([gateway.replace("port: 80", "port: many")]);
    expect(exit).toBe(3);
    expect(out).toMatch(/^rejected: .*objects\.yaml.*Gateway shop\/web: listeners\[0\]\.port/m);
  });

  it("prints named objects as JSON", async () => {
    const { out } = await status([gateway, service, route("a"), route("b")], "httproute/shop/b", "-o", "json");
    expect(JSON.parse(out)).toMatchObject([
      { kind: "HTTPRoute", namespace: "shop", name: "b", status: { parents: [{ parentRef: { name: "web" } }] } },
    ]);
    expect((await status([gateway], "HTTPRoute/shop/none")).exit).toBe(2);
  });

  it("has no proxies to wait for", async () => {
    expect(await status([gateway], "--wait")).toEqual({
      out: "istiod status: --configDir: files have no proxies; leave out --istiod and --wait\n",
      exit: 2,
    });
  });
});
