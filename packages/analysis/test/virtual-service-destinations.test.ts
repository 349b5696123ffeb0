import { expect, test } from "vitest";
import { messagesIn, object, placesIn } from "./messages-in.js";

const codes = ["IST0101", "IST0112", "IST0140"];

const service = (name: string, ports: readonly number[], metadata = {}): string =>
  object("Service", name, { spec: { ports: ports.map((port) => ({ name: `http-${port}`, port })) } }, metadata);

const route = (destination: string): string => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart, namespace: shop}
spec:
  hosts: [cart]
  http:
  - route:
    - destination:
        ${destination}
`;

test("an undeclared destination host is reported at its line, with similar hosts", () => {
  const services = service("shop/reviews", [80]) + service("books/ratings", [80]);
  expect(messagesIn(route("host: review") + "---\n" + services, codes)).toEqual([
    'IST0101 VirtualService shop/cart 10: referenced host "review" not found: no Service or ServiceEntry declares it; did you mean "reviews"?',
  ]);
  expect(messagesIn(route("host: ratings") + "---\n" + services, codes)).toEqual([
    'IST0101 VirtualService shop/cart 10: referenced host "ratings" not found: no Service or ServiceEntry declares it; did you mean "ratings.books.svc.cluster.local"?',
  ]);
  expect(messagesIn(route("host: reviews") + "---\n" + services, codes)).toEqual([]);
  expect(messagesIn(route("host: ratings.books.svc.cluster.local") + "---\n" + services, codes)).toEqual([]);
  expect(
    messagesIn(route("host: ratings.books.svc.example.org") + "---\n" + services, codes, {
      environment: { DOMAIN_SUFFIX: "example.org" },
    }),
  ).toEqual([]);
});

test("a service that is not exported to the namespace is reported as not found", () => {
  const exported = (to: string): string =>
    service("books/ratings", [80], { annotations: { "networking.istio.io/exportTo": to } });
  const text = route("host: ratings.books.svc.cluster.local") + "---\n";
  expect(messagesIn(text + exported("."), codes)).toEqual([
    'IST0101 VirtualService shop/cart 10: referenced host "ratings.books.svc.cluster.local" not found: Service books/ratings is not exported to namespace shop; add the namespace to its exportTo',
  ]);
  expect(messagesIn(text + exported("., shop"), codes)).toEqual([]);
});

test("hosts of exported ServiceEntries are found, including wildcard hosts", () => {
  const entry = (hosts: readonly string[], exportTo: readonly string[]): string =>
    object("ServiceEntry", "books/out", {
      spec: { hosts, exportTo, resolution: "DNS", ports: [{ number: 443, name: "https", protocol: "HTTPS" }] },
    });
  const text = route("host: api.example.com") + "---\n";
  expect(messagesIn(text + entry(["api.example.com"], []), codes)).toEqual([]);
  expect(messagesIn(text + entry(["*.example.com"], ["*"]), codes)).toEqual([]);
  expect(placesIn(text + entry(["*.example.com"], ["."]), codes)).toEqual(["IST0101 VirtualService shop/cart 10"]);
  expect(messagesIn(text + entry(["apis.example.com"], []), codes)).toEqual([
    'IST0101 VirtualService shop/cart 10: referenced host "api.example.com" not found: no Service or ServiceEntry declares it; did you mean "apis.example.com"?',
  ]);
});

test("a port is required if the service has several, and must be one of them", () => {
  const both = "---\n" + service("shop/reviews", [80, 443]);
  expect(messagesIn(route("host: reviews") + both, codes)).toEqual([
    'IST0112 VirtualService shop/cart 10: destination "reviews" names no port, but the service has ports 80, 443; set port.number to one of them',
  ]);
  expect(messagesIn(route("{host: reviews, port: {number: 8080}}") + both, codes)).toEqual([
    'IST0101 VirtualService shop/cart 10: referenced host:port "reviews:8080" not found: the service has 80, 443',
  ]);
  expect(messagesIn(route("{host: reviews, port: {number: 443}}") + both, codes)).toEqual([]);
  expect(messagesIn(route("host: reviews") + "---\n" + service("shop/reviews", [80]), codes)).toEqual([]);
});

test("an alias has the ports and subsets of the service that it stands for, and none of its own", () => {
  const alias = (name: string, externalName: string, ports: readonly number[] = []): string =>
    object("Service", name, {
      spec: { type: "ExternalName", externalName, ports: ports.map((port) => ({ name: `http-${port}`, port })) },
    });
  const reviews = service("shop/reviews", [80]) + subsets("shop/reviews", "reviews", ["v1"]);
  const host = "reviews.shop.svc.cluster.local";
  const chain = alias("shop/rev", "between.books.svc.cluster.local") + alias("books/between", host, [99]);
  for (const aliases of [
    alias("shop/rev", host),
    alias("shop/rev", host, [8888, 9999]),
    alias("shop/rev", `${host}.`),
    chain,
  ])
    for (const destination of ["host: rev", "{host: rev, port: {number: 80}}", "{host: rev, subset: v1}"])
      expect(messagesIn(`${route(destination)}---\n${reviews}${aliases}`, codes)).toEqual([]);
  const text = (destination: string, aliases: string): readonly string[] =>
    messagesIn(`${route(destination)}---\n${reviews}${aliases}`, codes);
  expect(text("{host: rev, port: {number: 8888}}", alias("shop/rev", host, [8888]))).toEqual([
    'IST0101 VirtualService shop/cart 10: referenced host:port "rev:8888" not found: the service has 80',
  ]);
  expect(text("{host: rev, subset: v2}", alias("shop/rev", host) + subsets("shop/rev", "rev", ["v2"]))).toEqual([
    'IST0101 VirtualService shop/cart 10: referenced host+subset in destinationrule "rev+v2" not found: the DestinationRules of the host define v1; did you mean "v1"?',
  ]);
  expect(text("host: rev", alias("shop/rev", "out.example.com", [80]))).toEqual([
    'IST0101 VirtualService shop/cart 10: referenced host "rev" not found: Service shop/rev is an alias (ExternalName) of "out.example.com", and no Service or ServiceEntry declares it',
  ]);
  expect(
    text("host: rev", alias("shop/rev", "b.shop.svc.cluster.local") + alias("shop/b", "rev.shop.svc.cluster.local")),
  ).toEqual([
    'IST0101 VirtualService shop/cart 10: referenced host "rev" not found: Service shop/rev is an alias (ExternalName) that leads back to itself',
  ]);
});

test("mirrors, TCP routes and TLS routes are checked, and empty routes cause no error", () => {
  const spec = {
    hosts: ["cart"],
    http: [{ mirror: { host: "a" }, mirrors: [{ destination: { host: "b" } }, {}], route: [{}] }],
    tcp: [{ route: [{ destination: { host: "c" } }] }],
    tls: [{ route: [{ destination: { host: "d" } }] }],
  };
  const messages = messagesIn(object("VirtualService", "shop/cart", { spec }), codes).map(
    (message) => /referenced (.*) not found/.exec(message)?.[1],
  );
  expect(messages.sort()).toEqual([
    'host ""',
    'host "c"',
    'host "d"',
    'mirror host ""',
    'mirror host "a"',
    'mirror host "b"',
  ]);
});

const subsets = (name: string, host: string, names: readonly string[]): string =>
  object("DestinationRule", name, {
    spec: { host, subsets: names.map((subset) => ({ name: subset, labels: { version: subset } })) },
  });

test("a subset must be defined by a DestinationRule of the host", () => {
  const others = "---\n" + service("shop/reviews", [80]) + service("books/reviews", [80]);
  const text = route("{host: reviews, subset: v2}") + others;
  expect(messagesIn(text, codes)).toEqual([
    'IST0101 VirtualService shop/cart 10: referenced host+subset in destinationrule "reviews+v2" not found: no DestinationRule is for host "reviews"; create one that defines the subset',
  ]);
  expect(messagesIn(text + subsets("shop/a", "reviews", ["v1", "v3"]), codes)).toEqual([
    'IST0101 VirtualService shop/cart 10: referenced host+subset in destinationrule "reviews+v2" not found: the DestinationRules of the host define v1, v3; did you mean "v1" or "v3"?',
  ]);
  expect(placesIn(text + subsets("books/a", "reviews", ["v2"]), codes)).toEqual([
    "IST0101 VirtualService shop/cart 10",
  ]);
  expect(messagesIn(text + subsets("shop/a", "reviews", ["v2"]), codes)).toEqual([]);
  expect(messagesIn(text + subsets("books/a", "reviews.shop.svc.cluster.local", ["v2"]), codes)).toEqual([]);
  expect(
    messagesIn(
      route("{host: reviews.shop.svc.cluster.local, subset: v2}") + others + subsets("shop/a", "reviews", ["v2"]),
      codes,
    ),
  ).toEqual([]);
});

test("a gateway route without a subset is reported if another VirtualService selects subsets of the host", () => {
  const gateway = object("Gateway", "shop/gw", {
    spec: {
      selector: { istio: "ingressgateway" },
      servers: [{ hosts: ["*"], port: { number: 80, name: "http", protocol: "HTTP" } }],
    },
  });
  const inner = object("VirtualService", "shop/reviews", {
    spec: { hosts: ["reviews"], http: [{ route: [{ destination: { host: "reviews", subset: "v1" } }] }] },
  });
  const others = gateway + inner + service("shop/reviews", [80]) + subsets("shop/reviews", "reviews", ["v1"]);
  const outer = (gateways: readonly string[], subset?: string): string =>
    object("VirtualService", "shop/outer", {
      spec: { hosts: ["a.example"], gateways, http: [{ route: [{ destination: { host: "reviews", subset } }] }] },
    });
  expect(messagesIn(outer(["gw"]) + others, codes)).toEqual([
    'IST0140 VirtualService shop/outer 1: the subsets that VirtualService shop/reviews selects for "reviews" have no effect on requests that this route takes from a gateway; set the subset here',
  ]);
  expect(messagesIn(outer([]) + others, codes)).toEqual([]);
  expect(messagesIn(outer(["gw"], "v1") + others, codes)).toEqual([]);
});
