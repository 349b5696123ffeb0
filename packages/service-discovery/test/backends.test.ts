import { endpoints, service, serviceOrder, servicesByHostname } from "@istiod/service-discovery";
import { describe, expect, test } from "vitest";
import { Mesh } from "./mesh.js";

function backend(name: string, hostname: string, more = ""): string {
  return `---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: ${name}, namespace: shop}
spec: {type: ExternalHostname, externalHostname: {hostname: ${hostname}}, port: {number: 8443}${more}}
`;
}

const key = "shop/api.example.org";

function mesh(yaml: string, isEnabled = true): Mesh {
  const built = new Mesh();
  if (isEnabled) built.set("PILOT_ENABLE_ALPHA_GATEWAY_API", "true");
  return built.apply(yaml);
}

describe("XBackends", () => {
  test("are services outside of the mesh, which proxies resolve", () => {
    const built = mesh(backend("api", "api.example.org", ", protocol: H2C"));
    expect(built.ask(serviceOrder)).toEqual([key]);
    expect(built.ask(servicesByHostname, "api.example.org")).toEqual([key]);
    expect(built.ask(service, key)).toMatchObject({
      resolution: "DNSLB",
      meshExternal: true,
      ports: [{ number: 8443, name: "HTTP2", protocol: "HTTP2" }],
    });
    expect(built.ask(endpoints, { service: key, port: "HTTP2" })).toMatchObject([
      { addresses: ["api.example.org"], port: 8443 },
    ]);
  });

  test("are not read unless the experimental kinds are enabled", () => {
    const built = mesh(backend("api", "api.example.org"), false);
    expect(built.ask(serviceOrder)).toEqual([]);
    expect(built.ask(servicesByHostname, "api.example.org")).toEqual([]);
    expect(built.ask(service, key)).toBeUndefined();
  });

  test.each(["cart.shop.svc.cluster.local", "cart.shop.svc.clusterset.local"])(
    "cannot claim a hostname of the mesh: %s",
    (hostname) => {
      expect(mesh(backend("api", hostname)).ask(service, `shop/${hostname}`)).toBeUndefined();
    },
  );

  test("follow edits", () => {
    const built = mesh(backend("api", "api.example.org"));
    expect(built.ask(service, key)?.ports[0]?.protocol).toBe("HTTP");
    built.apply(backend("api", "other.example.org", ", protocol: TCP"));
    expect(built.ask(serviceOrder)).toEqual(["shop/other.example.org"]);
    expect(built.ask(service, key)).toBeUndefined();
  });
});
