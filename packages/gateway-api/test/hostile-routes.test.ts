import { gatewayApiGateways, gatewayStatus, listenerSetStatus, routeStatus } from "@istiod/gateway-api";
import { beforeAll, describe, expect, test } from "vitest";
import { gateway, gatewayApi, httpListener, RouteMesh, servicesOf } from "./route-mesh.js";

const toCart = "rules: [{matches: [{path: {value: /}}], backendRefs: [{name: cart, port: 80}]}]";
const route = (key: string, spec: string, age = 0): string => gatewayApi("HTTPRoute", key, `{${spec}}`, age);
const set = (key: string, parentRef: string, listener: string): string =>
  gatewayApi("ListenerSet", key, `{parentRef: ${parentRef}, listeners: [${listener}]}`);

/** A Gateway with one route of a careful user, and what it is derived to. */
const innocent = [
  servicesOf("shop/cart", "evil/cart", "shop/vault"),
  gateway("edge/front", `[${httpListener("http")}, {name: own, port: 81, protocol: HTTP}]`),
  route("shop/web", `parentRefs: [{name: front, namespace: edge}], hostnames: [shop.example], ${toCart}`),
].join("");

const hostile = {
  "takes paths of a host of another namespace, later": route(
    "evil/late",
    `parentRefs: [{name: front, namespace: edge, sectionName: http}], hostnames: [shop.example], ${toCart}`,
    9,
  ),
  "is not allowed by the listener": route(
    "evil/own",
    `parentRefs: [{name: front, namespace: edge, sectionName: own}], ${toCart}`,
  ),
  "leads to another namespace without a grant": route(
    "evil/steal",
    "parentRefs: [{name: front, namespace: edge}], hostnames: [evil.example], rules: [{backendRefs: [{name: vault, namespace: shop, port: 80}]}]",
  ),
  "has a filter that is not supported": route(
    "evil/filter",
    "parentRefs: [{name: front, namespace: edge}], hostnames: [evil.example], rules: [{filters: [{type: ExtensionRef, extensionRef: {group: a, kind: B, name: c}}]}]",
  ),
  "has a ListenerSet that is its own parent as parent":
    set("evil/self", "{kind: ListenerSet, name: self}", httpListener("a")) +
    route("evil/of-self", `parentRefs: [{kind: ListenerSet, name: self}], ${toCart}`),
  "has one of two ListenerSets that are each other's parents":
    set("evil/one", "{kind: ListenerSet, name: two}", httpListener("a")) +
    set("evil/two", "{kind: ListenerSet, name: one}", httpListener("a")) +
    route("evil/of-one", `parentRefs: [{kind: ListenerSet, name: one}], ${toCart}`),
  "has a ListenerSet that the Gateway does not allow":
    set("evil/more", "{name: front, namespace: edge}", httpListener("a", "hostname: shop.example")) +
    route("evil/of-more", `parentRefs: [{kind: ListenerSet, name: more}], hostnames: [shop.example], ${toCart}`),
} as const;

let alone: { readonly virtualServices: unknown; readonly gateways: unknown };
const derived = (mesh: RouteMesh) => ({
  virtualServices: mesh.virtualServices(),
  gateways: mesh.db.view(undefined).call(gatewayApiGateways),
});
beforeAll(() => {
  alone = derived(new RouteMesh(innocent));
});

test("all hostile routes together harm neither the route of another namespace nor its listener", () => {
  const mesh = new RouteMesh(innocent + Object.values(hostile).join(""));
  const { virtualServices, gateways } = derived(mesh);
  expect(gateways).toEqual(alone.gateways);
  const [key] = Object.keys(alone.virtualServices as object);
  const { http = [] } = (virtualServices as ReturnType<RouteMesh["virtualServices"]>)[key ?? ""] ?? {};
  expect(http[0]).toEqual((alone.virtualServices as ReturnType<RouteMesh["virtualServices"]>)[key ?? ""]?.http?.[0]);
  expect(mesh.statuses("HTTPRoute", "shop/web")).toEqual(new RouteMesh(innocent).statuses("HTTPRoute", "shop/web"));
});

test.each<[keyof typeof hostile, string, readonly (readonly string[])[]]>([
  ["takes paths of a host of another namespace, later", "evil/late", [["True Accepted", "True ResolvedRefs"]]],
  ["is not allowed by the listener", "evil/own", [["False NotAllowedByListeners", "True ResolvedRefs"]]],
  ["leads to another namespace without a grant", "evil/steal", [["True Accepted", "False RefNotPermitted"]]],
  ["has a filter that is not supported", "evil/filter", [["True Accepted", "False InvalidFilter"]]],
  ["has a ListenerSet that is its own parent as parent", "evil/of-self", []],
  ["has one of two ListenerSets that are each other's parents", "evil/of-one", []],
  ["has a ListenerSet that the Gateway does not allow", "evil/of-more", []],
])("a route that %s says so in its status", (name, key, expected) => {
  const mesh = new RouteMesh(innocent + hostile[name]);
  const parents = mesh.db.view(undefined).call(routeStatus, { kind: "HTTPRoute", key })?.parents ?? [];
  const found = parents.map(({ conditions }) =>
    ["Accepted", "ResolvedRefs"].map((type) => {
      const condition = conditions.find((each) => each.type === type);
      return `${condition?.status} ${condition?.reason}`;
    }),
  );
  expect(found).toEqual(expected);
});

test("no route of another namespace gets what a ReferenceGrant would have to permit", () => {
  const mesh = new RouteMesh(innocent + hostile["leads to another namespace without a grant"]);
  expect(JSON.stringify(mesh.virtualServices())).not.toContain("vault");
});

describe("ListenerSets of another namespace", () => {
  const allowing = innocent.replace(
    "gatewayClassName: istio,",
    "gatewayClassName: istio, allowedListeners: {namespaces: {from: All}},",
  );
  const conditionsOf = (mesh: RouteMesh, key: string): readonly string[] => {
    const { listeners = [] } = mesh.db.view(undefined).call(listenerSetStatus, key) ?? {};
    return listeners.flatMap(({ conditions }) =>
      conditions.map(({ type, status, reason }) => `${type} is ${status}: ${reason}`),
    );
  };

  test("that conflict with a listener of the Gateway say so, and leave it as it is", () => {
    const before = new RouteMesh(allowing);
    const conflicting = Array.from({ length: 300 }, (_, i) =>
      set(`evil/more-${i}`, "{name: front, namespace: edge}", "{name: a, port: 80, protocol: HTTP}"),
    );
    const taking = route("evil/taking", `parentRefs: [{kind: ListenerSet, name: more-7}], ${toCart}`);
    const mesh = new RouteMesh(allowing + conflicting.join("") + taking);
    for (const key of ["evil/more-0", "evil/more-7", "evil/more-299"])
      expect(conditionsOf(mesh, key)).toEqual(
        expect.arrayContaining(["Accepted is False: HostnameConflict", "Conflicted is True: HostnameConflict"]),
      );
    const frontOf = (of: RouteMesh): unknown => of.db.view(undefined).call(gatewayStatus, "edge/front")?.listeners;
    expect(frontOf(mesh)).toEqual(frontOf(before));
    expect(mesh.virtualServices()).toEqual(before.virtualServices());
  });

  test("that are each other's parents in a long cycle are not attached, and no other route is lost", () => {
    const length = 1_000;
    const cycle = Array.from({ length }, (_, i) =>
      set(`evil/set-${i}`, `{kind: ListenerSet, name: set-${(i + 1) % length}}`, httpListener("a")),
    );
    const mesh = new RouteMesh(
      allowing + cycle.join("") + route("evil/of-cycle", `parentRefs: [{kind: ListenerSet, name: set-500}], ${toCart}`),
    );
    expect(conditionsOf(mesh, "evil/set-0").filter((each) => each.startsWith("Accepted is True"))).toEqual([]);
    expect(mesh.statuses("HTTPRoute", "evil/of-cycle")).toEqual([]);
    expect(mesh.virtualServices()).toEqual(new RouteMesh(allowing).virtualServices());
  });
});

describe("a route for many hosts at many listeners", () => {
  const listeners = Array.from({ length: 8 }, (_, i) =>
    httpListener(`l-${i}`).replace("port: 80", `port: ${8000 + i}`),
  );
  const many = [
    servicesOf("shop/cart"),
    gateway("edge/front", `[${listeners.join(", ")}]`),
    route("shop/wide", `parentRefs: [{name: front, namespace: edge}], hostnames: [a.example, b.example], ${toCart}`),
    route("shop/other", `parentRefs: [{name: front, namespace: edge}], hostnames: [c.example], ${toCart}`),
  ].join("");
  const hostsOf = (mesh: RouteMesh, suffix: string): number =>
    Object.values(mesh.virtualServices()).filter(({ hosts: [host] }) => host?.startsWith(suffix)).length;
  const accepted = (mesh: RouteMesh): string | undefined => mesh.statuses("HTTPRoute", "shop/wide")[0]?.["Accepted"];

  test("is served everywhere within the bounds", () => {
    const mesh = new RouteMesh(many);
    expect([hostsOf(mesh, "a."), hostsOf(mesh, "b."), hostsOf(mesh, "c.")]).toEqual([8, 8, 8]);
    expect(accepted(mesh)).toBe("True Accepted: Route was valid, bound to 8 parents");
  });

  test.each([
    ["ISTIOD_MAX_GATEWAY_ROUTES_OF_VIRTUAL_SERVICE", "5", "1 matches of rules at each, of at most 5 in all"],
    ["ISTIOD_MAX_GATEWAY_BYTES_OF_VIRTUAL_SERVICE", "1000", "bytes of rules at each, of at most 1000 in all"],
  ])("is served at the first listeners within %s, and says so", (variable, value, why) => {
    const mesh = new RouteMesh(many).set(variable, value);
    const served = hostsOf(mesh, "a.") + hostsOf(mesh, "b.");
    expect(served).toBeGreaterThan(1);
    expect(served).toBeLessThan(16);
    expect(accepted(mesh)).toContain(`no effect on hosts of listeners after the first ${served}: `);
    expect(accepted(mesh)).toContain(`${why} (${variable})`);
  });
});
