import { isIPv4 } from "node:net";
import { describe, expect, test } from "vitest";
import { type AddressView, type Service, service, serviceAddress, serviceAddresses } from "@istiod/service-discovery";
import { Mesh, serviceYaml } from "./mesh.js";

const v4: AddressView & { ipv4: boolean; ipv6: boolean } = {
  cluster: "Kubernetes",
  usesAutoAllocated: false,
  keepsAllFamilies: false,
  reachable: (addresses) => addresses.filter((address) => isIPv4(address)),
  ipv4: true,
  ipv6: false,
};

function found(mesh: Mesh, id: string): Service {
  const it = mesh.ask(service, id);
  if (it === undefined) throw new Error(`no service ${id}`);
  return it;
}

describe("the address of a service", () => {
  test("is that in the client's cluster, else the first", () => {
    const cart = found(
      new Mesh(serviceYaml("cart")).apply(serviceYaml("cart", { ip: "10.9.0.1" }), "east"),
      "shop/cart.shop.svc.cluster.local",
    );
    expect(serviceAddresses(cart, v4)).toEqual(["10.0.0.1"]);
    expect(serviceAddresses(cart, { ...v4, cluster: "east" })).toEqual(["10.9.0.1"]);
    expect(serviceAddresses(cart, { ...v4, cluster: "west" })).toEqual(["10.0.0.1"]);
    expect(serviceAddress(cart, { ...v4, cluster: "east" })).toBe("10.9.0.1");
  });

  test("is of the client's address families", () => {
    const cart = found(
      new Mesh(serviceYaml("cart", { spec: 'clusterIPs: [10.0.0.1, "fd00::1"]' })),
      "shop/cart.shop.svc.cluster.local",
    );
    expect(serviceAddresses(cart, v4)).toEqual(["10.0.0.1"]);
    expect(serviceAddresses(cart, { ...v4, keepsAllFamilies: true })).toEqual(["10.0.0.1", "fd00::1"]);
    expect(serviceAddresses(cart, { ...v4, cluster: "west", reachable: () => [] })).toEqual([]);
  });

  test("may be auto-allocated, if the client's DNS proxy resolves it", () => {
    const api = found(
      new Mesh(`
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: api, namespace: shop}
spec: {hosts: [api.example.org], ports: [{number: 443, name: tls, protocol: TLS}], resolution: DNS}
status: {addresses: [{value: 240.240.0.5, host: api.example.org}]}
`),
      "shop/api.example.org",
    );
    expect(serviceAddress(api, v4)).toBe("0.0.0.0");
    expect(serviceAddress(api, { ...v4, usesAutoAllocated: true })).toBe("240.240.0.5");
    expect(serviceAddresses(api, { ...v4, usesAutoAllocated: true })).toEqual(["240.240.0.5"]);
  });
});
