import type { View } from "@istiod/incremental";
import { describe, expect, it } from "vitest";
import type { Proxy } from "../src/proxy/proxy.js";
import { resolveGateway, resolveHost } from "../src/routing/short-names.js";
import { virtualService } from "../src/routing/virtual-service.js";
import { virtualServiceOrder, virtualServicesForGateway } from "../src/routing/virtual-service-index.js";
import { TestMesh as Mesh } from "./mesh.js";
import { networking } from "./objects.js";

class TestMesh extends Mesh {
  sidecar(namespace: string): View<Proxy> {
    return this.client({ namespace }).view;
  }

  router(namespace: string): View<Proxy> {
    return this.client({ type: "router", namespace }).view;
  }
}

const scope = { namespace: "shop", domain: "cluster.local" };

describe("names in a VirtualService", () => {
  it.each([
    ["cart", "cart.shop.svc.cluster.local"],
    ["cart.payments", "cart.payments"],
    ["*", "*"],
    ["*.example.com", "*.example.com"],
    ["10.0.0.1", "10.0.0.1"],
    ["fd00::1", "fd00::1"],
  ])("host %s means %s", (host, full) => {
    expect(resolveHost(host, scope)).toBe(full);
  });

  it.each([
    ["mesh", "mesh"],
    ["front", "shop/front"],
    ["./front", "shop/front"],
    ["edge/front", "edge/front"],
    ["front.edge", "edge/front"],
    ["front.edge.svc.cluster.local", "edge/front"],
  ])("gateway %s means %s", (gateway, full) => {
    expect(resolveGateway(gateway, "shop")).toBe(full);
  });

  it("are fully qualified in all fields", () => {
    const mesh = new TestMesh(
      networking(
        "VirtualService",
        "shop",
        "v",
        "{hosts: [cart], gateways: [front, mesh], http: [{match: [{gateways: [front], uri: {prefix: /}}], route: [{destination: {host: cart}}], mirrors: [{destination: {host: shadow}}]}], tcp: [{route: [{destination: {host: db}}]}]}",
      ),
    );
    expect(mesh.sidecar("shop").call(virtualService, "shop/v")?.spec).toMatchObject({
      hosts: ["cart.shop.svc.cluster.local"],
      gateways: ["shop/front", "mesh"],
      http: [
        {
          match: [{ gateways: ["shop/front"] }],
          route: [{ destination: { host: "cart.shop.svc.cluster.local" } }],
          mirrors: [{ destination: { host: "shadow.shop.svc.cluster.local" } }],
        },
      ],
      tcp: [{ route: [{ destination: { host: "db.shop.svc.cluster.local" } }] }],
    });
  });
});

describe("order of VirtualServices", () => {
  it("is by age, then name, then namespace", () => {
    const any = "{hosts: [a.example.com], http: [{route: [{destination: {host: a.example.com}}]}]}";
    const mesh = new TestMesh(
      networking("VirtualService", "b", "x", any, { age: 1 }) +
        networking("VirtualService", "a", "x", any, { age: 1 }) +
        networking("VirtualService", "z", "w", any, { age: 1 }) +
        networking("VirtualService", "z", "oldest", any, { age: 2 }),
    );
    expect(mesh.sidecar("a").call(virtualServiceOrder)).toEqual(["z/oldest", "z/w", "a/x", "b/x"]);
  });
});

describe("VirtualServices of a gateway", () => {
  const bound = (exportTo: string): string =>
    `{hosts: [a.example.com], gateways: [edge/front], http: [{route: [{destination: {host: a.example.com}}]}], exportTo: [${exportTo}]}`;
  const mesh = new TestMesh(
    networking("VirtualService", "shop", "open", bound("'*'")) +
      networking("VirtualService", "shop", "given", bound("edge")),
  );

  it("are those visible to its namespace", () => {
    expect(mesh.router("edge").call(virtualServicesForGateway, "edge/front")).toEqual(["shop/given", "shop/open"]);
    expect(mesh.router("other").call(virtualServicesForGateway, "edge/front")).toEqual(["shop/open"]);
    expect(mesh.router("edge").call(virtualServicesForGateway, "edge/back")).toEqual([]);
  });
});

describe("a delegating route", () => {
  const root = (match: string, more = ""): string =>
    networking(
      "VirtualService",
      "shop",
      "root",
      `{hosts: [shop.example.com], http: [{name: root, match: [${match}], delegate: {name: leaf, namespace: team}, ${more}}]}`,
    );
  const leaf = (http: string, more = ""): string =>
    networking("VirtualService", "team", "leaf", `{http: [${http}], ${more}}`);
  const route = "route: [{destination: {host: a}}]";

  function resolved(yaml: string) {
    return new TestMesh(yaml).sidecar("shop").call(virtualService, "shop/root")!;
  }

  it("is replaced by the delegate's routes, with matches combined and names joined", () => {
    const { spec, delegates, problems } = resolved(
      root("{uri: {prefix: /team}}", "timeout: 3s, headers: {request: {set: {x: '1'}}}") +
        leaf(
          `{name: one, match: [{uri: {exact: /team/one}, method: {exact: GET}}], timeout: 1s, ${route}}, {${route}}`,
        ),
    );
    expect(spec.http).toMatchObject([
      {
        name: "root-one",
        match: [{ uri: { matchType: { case: "exact", value: "/team/one" } }, method: { matchType: { value: "GET" } } }],
        timeout: { seconds: 1n },
        headers: { request: { set: { x: "1" } } },
        route: [{ destination: { host: "a.team.svc.cluster.local" } }],
      },
      { name: "root", match: [{ uri: { matchType: { case: "prefix", value: "/team" } } }], timeout: { seconds: 3n } },
    ]);
    expect(delegates).toEqual(["team/leaf"]);
    expect(problems).toEqual([]);
  });

  it.each([
    ["another prefix", "{uri: {prefix: /a}}", "{uri: {prefix: /b}}"],
    ["a prefix where the root is exact", "{uri: {exact: /a}}", "{uri: {prefix: /a}}"],
    ["a regex where the root has any", "{uri: {prefix: /a}}", "{uri: {regex: /a.*}}"],
    ["another header value", "{headers: {x: {exact: '1'}}}", "{headers: {x: {exact: '2'}}}"],
    ["another port", "{port: 80}", "{port: 81}"],
    ["a gateway that the root does not have", "{gateways: [mesh]}", "{gateways: [front]}"],
    ["another case rule", "{uri: {prefix: /a}, ignoreUriCase: true}", "{uri: {prefix: /a}}"],
  ])("leaves out a route of the delegate with %s, and says so", (_, rootMatch, leafMatch) => {
    const { spec, problems } = resolved(root(rootMatch) + leaf(`{match: [${leafMatch}], ${route}}`));
    expect(spec.http).toEqual([]);
    expect(problems).toMatchObject([{ object: "team/leaf", code: "delegate_conflict" }]);
    expect(problems[0]!.message).toContain("http[0]");
  });

  it("is ignored if there is no delegate, or none visible to its namespace", () => {
    expect(resolved(root("{}"))).toMatchObject({ spec: { http: [] }, problems: [{ code: "delegate_not_found" }] });
    expect(resolved(root("{}") + leaf(`{${route}}`, "exportTo: [.]"))).toMatchObject({
      spec: { http: [] },
      problems: [{ object: "shop/root", code: "delegate_not_exported" }],
    });
  });
});
