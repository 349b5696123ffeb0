import { describe, expect, it } from "vitest";
import { cart, meshOf, proxy, route, service, why } from "./mesh.js";

function gatewayApi(kind: string, name: string, spec: object, created = 1): string {
  const creationTimestamp = `2024-01-0${created}T00:00:00Z`;
  const metadata = { name, namespace: "shop", creationTimestamp };
  return `---\n${JSON.stringify({ apiVersion: "gateway.networking.k8s.io/v1", kind, metadata, spec })}\n`;
}

const rules = [{ backendRefs: [{ name: "cart", port: 80 }] }];
const ofCart = (more: object = {}): object => ({
  parentRefs: [{ group: "", kind: "Service", name: "cart", ...more }],
  rules,
});

describe("routes of the Gateway API", () => {
  it("are among the objects of a route configuration, with their fields", () => {
    const spec = { ...ofCart(), rules: [{ timeouts: { request: "7s" }, ...rules[0] }] };
    const database = meshOf(service("cart") + gatewayApi("HTTPRoute", "web", spec));
    const { objects } = why(database, proxy(), "rds", "80", 2000);
    const found = objects.filter(({ read, kind }) => read !== "absent" && kind.endsWith("Route"));
    expect(found.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`)).toEqual(["HTTPRoute shop/web"]);
    expect(found[0]?.effect?.fields).toContain("spec.rules[0].timeouts.request");
    expect(objects.filter(({ kind, read }) => kind === "VirtualService" && read !== "absent")).toEqual([]);
  });

  it("are named where they take precedence over a VirtualService", () => {
    const database = meshOf(service("cart") + gatewayApi("HTTPRoute", "web", ofCart(), 2) + route("own", cart));
    expect(why(database, proxy(), "rds", "80").ignored).toEqual([
      {
        kind: "VirtualService",
        namespace: "shop",
        name: "own",
        field: "spec.hosts",
        overriddenBy: { kind: "HTTPRoute", namespace: "shop", name: "web" },
        reason: `is ignored for ${cart}:80: HTTPRoute shop/web has the same host and takes precedence`,
      },
    ]);
  });

  it("are each named where others of their host take precedence", () => {
    const database = meshOf(
      service("cart") +
        gatewayApi("HTTPRoute", "first", ofCart({ port: 80 })) +
        gatewayApi("HTTPRoute", "late", ofCart(), 2) +
        gatewayApi("GRPCRoute", "later", ofCart(), 3),
    );
    const overriddenBy = { kind: "HTTPRoute", namespace: "shop", name: "first" };
    const reason = `is ignored for ${cart}:80: HTTPRoute shop/first has the same host and takes precedence`;
    const field = "spec.parentRefs";
    expect(why(database, proxy(), "rds", "80").ignored).toEqual([
      { kind: "HTTPRoute", namespace: "shop", name: "late", field, overriddenBy, reason },
      { kind: "GRPCRoute", namespace: "shop", name: "later", field, overriddenBy, reason },
    ]);
  });

  it("that share a listener are named by their kind", () => {
    const listener = { name: "tcp", port: 9000, protocol: "TCP" };
    const addresses = [{ type: "Hostname", value: "edge" }];
    const tcpRoute = { parentRefs: [{ name: "front" }], rules };
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web", namespace: "shop", labels: { app: "edge" } },
      spec: { containers: [{ name: "proxy" }] },
      status: { phase: "Running", podIP: "10.1.0.1", podIPs: [{ ip: "10.1.0.1" }] },
    };
    const edge = service("edge").replace('"port":80,"targetPort":8080', '"port":9000,"targetPort":9000');
    const database = meshOf(
      `${service("cart")}${edge}---\n${JSON.stringify(pod)}\n` +
        gatewayApi("Gateway", "front", { gatewayClassName: "istio", addresses, listeners: [listener] }) +
        gatewayApi("TCPRoute", "first", tcpRoute) +
        gatewayApi("TCPRoute", "late", tcpRoute, 2),
    );
    const { ignored } = why(database, proxy("router", "shop", { app: "edge" }), "lds", "0.0.0.0_9000");
    expect(ignored).toMatchObject([
      {
        kind: "TCPRoute",
        name: "late",
        overriddenBy: { kind: "TCPRoute", namespace: "shop", name: "first", field: "spec.rules" },
      },
    ]);
  });
});
