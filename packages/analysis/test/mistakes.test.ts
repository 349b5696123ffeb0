import type { Message } from "@istiod/analysis";
import { describe, expect, it, test } from "vitest";
import { analyzeAdded } from "./messages-of.js";

/** A mesh without a fault: reviews in two versions, ratings, and an ingress gateway in front. */
const mesh = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
---
apiVersion: v1
kind: Namespace
metadata: {name: istio-system, labels: {istio-injection: disabled}}
---
${service("reviews", "http", 9080)}---
${service("ratings", "http", 9080)}---
${pod("reviews", "v1")}---
${pod("reviews", "v2")}---
${pod("ratings", "v1")}---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: reviews, namespace: shop}
spec:
  host: reviews
  subsets:
  - {name: v1, labels: {version: v1}}
  - {name: v2, labels: {version: v2}}
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: front, namespace: istio-system}
spec:
  selector: {istio: ingressgateway}
  servers:
  - {port: {number: 80, name: http, protocol: HTTP}, hosts: [shop.example]}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: front, namespace: shop}
spec:
  hosts: [shop.example]
  gateways: [istio-system/front]
  http:
  - route: [{destination: {host: reviews}}]
`;

function service(name: string, port: string, number: number): string {
  return `apiVersion: v1
kind: Service
metadata: {name: ${name}, namespace: shop}
spec: {clusterIP: 10.96.0.1, selector: {app: ${name}}, ports: [{name: ${port}, port: ${number}}]}
`;
}

function pod(name: string, version: string): string {
  return `apiVersion: v1
kind: Pod
metadata: {name: ${name}-${version}, namespace: shop, labels: {app: ${name}, version: ${version}}}
spec: {containers: [{name: app, image: app}, {name: istio-proxy, image: proxyv2}]}
status: {phase: Running, podIP: 10.0.0.1}
`;
}

const networking = (kind: string, spec: string, name = "a"): string =>
  `apiVersion: networking.istio.io/v1\nkind: ${kind}\nmetadata: {name: ${name}, namespace: shop}\nspec:\n${spec}`;
const security = (kind: string, spec: string, name = "a"): string =>
  `apiVersion: security.istio.io/v1\nkind: ${kind}\nmetadata: {name: ${name}, namespace: shop}\nspec:\n${spec}`;
const telemetry = (spec: string): string =>
  `apiVersion: telemetry.istio.io/v1\nkind: Telemetry\nmetadata: {name: a, namespace: shop}\nspec:\n${spec}`;
const route = (line: string): string => networking("VirtualService", `  hosts: [ratings]\n  http:\n  - ${line}\n`);

const analyze = (added: string): readonly Message[] => analyzeAdded(mesh, added);

interface Mistake {
  /** The documents that are added to the mesh. */
  readonly yaml: string;
  readonly code: string;
  /** Text of the line that the message must refer to. */
  readonly at: string;
  /** The object. Default: the only one that is added. */
  readonly origin?: string;
  /** Required content of the message: the value, and how to fix it. */
  readonly says: readonly string[];
}

const mistakes: Readonly<Record<string, Mistake>> = {
  "a misspelled kind": {
    yaml: networking("VirtualServce", "  hosts: [a]\n"),
    code: "MESH0001",
    at: "kind:",
    origin: "VirtualServce shop/a",
    says: ["VirtualServce", "did you mean VirtualService?"],
  },
  "a kind of the wrong API group": {
    yaml: security("VirtualService", "  hosts: [a]\n"),
    code: "MESH0001",
    at: "apiVersion:",
    says: ["expected networking.istio.io/v1"],
  },
  "a kind that is not supported": {
    yaml: "apiVersion: gateway.networking.k8s.io/v1\nkind: UDPRoute\nmetadata: {name: a, namespace: shop}\n",
    code: "MESH0002",
    at: "kind:",
    says: ["UDPRoute", "Istio does not route UDP"],
  },
  "a field that is not supported": {
    yaml: route(
      "{fault: {delay: {exponentialDelay: 1s, percentage: {value: 1}}}, route: [{destination: {host: ratings}}]}",
    ),
    code: "IST0106",
    at: "exponentialDelay",
    says: ["exponentialDelay: is not supported", "fixedDelay"],
  },
  "a misspelled field": {
    yaml: route("route: [{destination: {hsot: ratings}}]"),
    code: "IST0106",
    at: "hsot",
    says: ["http[0].route[0].destination.hsot", "host"],
  },
  "a value of the wrong type": {
    yaml: route("route: [{destination: {host: ratings}, weight: most}]"),
    code: "IST0106",
    at: "weight",
    says: ["weight", '"most"', "integer"],
  },
  "a negative weight": {
    yaml: route("route: [{destination: {host: ratings}, weight: -1}]"),
    code: "IST0106",
    at: "weight",
    says: ["weight"],
  },
  "weights that are all zero": {
    yaml: route("route: [{destination: {host: ratings}, weight: 0}, {destination: {host: reviews}, weight: 0}]"),
    code: "IST0106",
    at: "weight",
    says: ["weight"],
  },
  "a duration without a unit": {
    yaml: route("{timeout: 3, route: [{destination: {host: ratings}}]}"),
    code: "IST0106",
    at: "timeout",
    says: ["timeout"],
  },
  "a regular expression that is none": {
    yaml: route("{match: [{uri: {regex: '['}}], route: [{destination: {host: ratings}}]}"),
    code: "IST0106",
    at: "regex",
    says: ["match[0].uri"],
  },
  "a route without a destination": {
    yaml: route("match: [{uri: {prefix: /}}]"),
    code: "IST0106",
    at: "match",
    says: ["http[0]"],
  },
  "an unknown enum value": {
    yaml: networking(
      "ServiceEntry",
      "  hosts: [a.example]\n  ports: [{number: 80, name: http, protocol: HTTP}]\n  resolution: DYNAMIC\n",
    ),
    code: "IST0106",
    at: "resolution",
    says: ["resolution", "DYNAMIC"],
  },
  "STATIC resolution with a host name": {
    yaml: networking(
      "ServiceEntry",
      "  hosts: [a.example]\n  ports: [{number: 80, name: http, protocol: HTTP}]\n  resolution: STATIC\n  endpoints: [{address: b.example}]\n",
    ),
    code: "IST0106",
    at: "endpoints",
    says: ["b.example", "IP address"],
  },
  "a TLS server without tls": {
    yaml: networking(
      "Gateway",
      "  servers:\n  - {port: {number: 443, name: https, protocol: HTTPS}, hosts: [a.example]}\n",
    ),
    code: "IST0106",
    at: "443",
    says: ["tls", "is missing"],
  },
  "an object without a name": {
    yaml: "apiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {namespace: shop}\n",
    code: "IST0106",
    at: "metadata",
    says: ["name"],
  },
  "broken YAML": {
    yaml: "apiVersion: v1\nkind: Service: a\n",
    code: "IST0106",
    at: "kind: Service",
    says: ["is not YAML"],
  },
  "a tab as indentation": {
    yaml: "apiVersion: v1\nkind: Service\nmetadata:\n\tname: a\n",
    code: "IST0106",
    at: "\tname",
    says: ["is not YAML"],
  },
  "a key that is there twice": {
    yaml: "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: shop}\nspec: {}\nkind: Service\n",
    code: "IST0106",
    at: "spec: {}\nkind: Service",
    says: ["kind"],
  },
  "a boolean where a string is expected": {
    yaml: "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: shop, labels: {on: yes}}\nspec: {}\n",
    code: "IST0106",
    at: "labels",
    says: ["expected a string", "quote"],
  },
  "an object that is defined twice": {
    yaml: service("reviews", "http", 9080),
    code: "IST0106",
    at: "apiVersion",
    origin: "Service shop/reviews",
    says: ["mesh.yaml"],
  },
  "a route that is never reached": {
    yaml: networking(
      "VirtualService",
      "  hosts: [ratings]\n  http:\n  - route: [{destination: {host: ratings}}]\n  - route: [{destination: {host: reviews}}]\n",
    ),
    code: "IST0130",
    at: "host: reviews",
    says: ["never reached"],
  },
  "a misspelled destination": {
    yaml: route("route: [{destination: {host: reviws}}]"),
    code: "IST0101",
    at: "reviws",
    says: ["reviws", 'did you mean "reviews'],
  },
  "a misspelled host of a VirtualService": {
    yaml: networking("VirtualService", "  hosts: [reviws]\n  http:\n  - route: [{destination: {host: reviews}}]\n"),
    code: "MESH0005",
    at: "hosts: [reviws]",
    says: ["reviws", 'did you mean "reviews"?'],
  },
  "a host with half of its full name": {
    yaml: networking(
      "VirtualService",
      "  hosts: [reviews.shop]\n  http:\n  - route: [{destination: {host: reviews}}]\n",
    ),
    code: "MESH0005",
    at: "reviews.shop",
    says: ["not a full name", "reviews.shop.svc.cluster.local"],
  },
  "a misspelled host of a DestinationRule": {
    yaml: networking("DestinationRule", "  host: reviws\n"),
    code: "IST0174",
    at: "reviws",
    says: ["reviws", 'did you mean "reviews'],
  },
  "a subset that is not defined": {
    yaml: route("route: [{destination: {host: reviews, subset: v3}}]"),
    code: "IST0101",
    at: "subset: v3",
    says: ["v3"],
  },
  "a subset without pods": {
    yaml: networking("DestinationRule", "  host: ratings\n  subsets:\n  - {name: v9, labels: {version: v9}}\n"),
    code: "IST0173",
    at: "v9",
    says: ["v9"],
  },
  "a gateway that selects nothing": {
    yaml: networking(
      "Gateway",
      "  selector: {istio: ingres}\n  servers:\n  - {port: {number: 80, name: http, protocol: HTTP}, hosts: [a.example]}\n",
    ),
    code: "IST0101",
    at: "ingres",
    says: ["istio=ingres"],
  },
  "a misspelled gateway": {
    yaml: networking(
      "VirtualService",
      "  hosts: [shop.example]\n  gateways: [istio-system/frnt]\n  http:\n  - route: [{destination: {host: reviews}}]\n",
    ),
    code: "IST0101",
    at: "frnt",
    says: ["frnt", 'did you mean "istio-system/front"?'],
  },
  "a host that the gateway does not have": {
    yaml: networking(
      "VirtualService",
      "  hosts: [other.example]\n  gateways: [istio-system/front]\n  http:\n  - route: [{destination: {host: reviews}}]\n",
    ),
    code: "IST0132",
    at: "[istio-system/front]",
    says: ["other.example", "istio-system/front"],
  },
  "a host that two gateways have": {
    yaml: networking(
      "Gateway",
      "  selector: {istio: ingressgateway}\n  servers:\n  - {port: {number: 80, name: web, protocol: HTTP}, hosts: [shop.example]}\n",
    ),
    code: "IST0145",
    at: "hosts: [shop.example]",
    origin: "Gateway shop/a",
    says: ["shop.example"],
  },
  "a destination that needs a port": {
    yaml: `${service("many", "http", 80).replace("}]}", "}, {name: grpc, port: 90}]}").replace("app: many", "app: ratings")}---\n${route("route: [{destination: {host: many}}]")}`,
    code: "IST0112",
    at: "host: many",
    origin: "VirtualService shop/a",
    says: ["many", "80", "90"],
  },
  "a port that the service does not have": {
    yaml: route("route: [{destination: {host: ratings, port: {number: 81}}}]"),
    code: "IST0101",
    at: "81",
    says: ["81"],
  },
  "a port without a name": {
    yaml: "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: shop}\nspec: {selector: {app: ratings}, ports: [{port: 80}]}\n",
    code: "IST0118",
    at: "port: 80",
    says: ["has no name"],
  },
  "a port with an unconventional name": {
    yaml: service("ratings2", "web", 80).replace("app: ratings2", "app: ratings"),
    code: "IST0118",
    at: "ports",
    says: ['"web"'],
  },
  "a TCP ServiceEntry without addresses": {
    yaml: networking(
      "ServiceEntry",
      "  hosts: [a.example]\n  ports: [{number: 3306, name: tcp, protocol: TCP}]\n  resolution: DNS\n",
    ),
    code: "IST0134",
    at: "TCP",
    says: ["addresses"],
  },
  "a policy that selects nothing": {
    yaml: security("AuthorizationPolicy", "  selector: {matchLabels: {app: reviws}}\n  rules: [{}]\n"),
    code: "IST0127",
    at: "reviws",
    says: ["app=reviws"],
  },
  "a policy for a namespace that does not exist": {
    yaml: security("AuthorizationPolicy", "  rules:\n  - from: [{source: {namespaces: [shpo]}}]\n"),
    code: "IST0101",
    at: "shpo",
    says: ["shpo"],
  },
  "mutual TLS switched off against STRICT": {
    yaml: `${security("PeerAuthentication", "  mtls: {mode: STRICT}\n", "default")}---\n${networking("DestinationRule", "  host: ratings\n  trafficPolicy: {tls: {mode: DISABLE}}\n")}`,
    code: "MESH0017",
    at: "mode: DISABLE",
    origin: "DestinationRule shop/a",
    says: ["DISABLE", "STRICT", "ISTIO_MUTUAL"],
  },
  "an unknown telemetry provider": {
    yaml: telemetry("  accessLogging:\n  - providers: [{name: otle}]\n"),
    code: "MESH0008",
    at: "otle",
    says: ["otle", "extensionProviders"],
  },
  "an unknown authorization provider": {
    yaml: security("AuthorizationPolicy", "  action: CUSTOM\n  provider: {name: ask}\n  rules: [{}]\n"),
    code: "MESH0008",
    at: "name: ask",
    says: ["ask", "denies"],
  },
  "a misspelled namespace in exportTo": {
    yaml: networking(
      "VirtualService",
      "  hosts: [ratings]\n  exportTo: [shp]\n  http:\n  - route: [{destination: {host: ratings}}]\n",
    ),
    code: "MESH0004",
    at: "exportTo",
    says: ["shp", 'did you mean "shop"?'],
  },
  "a misspelled namespace": {
    yaml: service("a", "http", 80).replace("namespace: shop", "namespace: shpo"),
    code: "MESH0004",
    at: "namespace",
    says: ["shpo", 'did you mean "shop"?'],
  },
  "a misspelled annotation": {
    yaml: service("a", "http", 80)
      .replace("namespace: shop", "namespace: shop, annotations: {networking.istio.io/exporTo: .}")
      .replace("app: a", "app: ratings"),
    code: "IST0108",
    at: "exporTo",
    says: ["networking.istio.io/exporTo"],
  },
  "conflicting VirtualServices": {
    yaml: `${route("route: [{destination: {host: ratings}}]")}---\n${networking("VirtualService", "  hosts: [ratings]\n  http:\n  - route: [{destination: {host: reviews}}]\n", "b")}`,
    code: "IST0109",
    at: "name: b, namespace: shop}\nspec:\n  hosts",
    origin: "VirtualService shop/b",
    says: ["ratings", "shop/a"],
  },
  "conflicting DestinationRules": {
    yaml: networking("DestinationRule", "  host: reviews\n  subsets:\n  - {name: v1, labels: {version: v2}}\n", "z"),
    code: "MESH0011",
    at: "name: v1",
    origin: "DestinationRule shop/z",
    says: ["v1", "shop/reviews", "overridden"],
  },
  "conflicting gateway ports": {
    yaml: networking(
      "Gateway",
      "  selector: {istio: ingressgateway}\n  servers:\n  - {port: {number: 80, name: tcp, protocol: TCP}, hosts: ['*']}\n",
      "z",
    ),
    code: "MESH0012",
    at: "protocol: TCP",
    origin: "Gateway shop/z",
    says: ["port 80", "istio-system/front"],
  },
  "two Sidecars without a selector": {
    yaml: `${networking("Sidecar", "  egress: [{hosts: ['./*']}]\n")}---\n${networking("Sidecar", "  egress: [{hosts: ['*/*']}]\n", "b")}`,
    code: "IST0111",
    at: "name: b",
    origin: "Sidecar shop/b",
    says: ["shop"],
  },
  "a gateway's Secret that does not exist": {
    yaml: networking(
      "Gateway",
      "  selector: {istio: ingressgateway}\n  servers:\n  - {port: {number: 443, name: https, protocol: HTTPS}, hosts: [a.example], tls: {mode: SIMPLE, credentialName: cert}}\n",
    ),
    code: "IST0101",
    at: "credentialName",
    says: ["cert"],
  },
  "keys at an address that is never reached": {
    yaml: security("RequestAuthentication", "  jwtRules:\n  - {issuer: me, jwksUri: 'http://169.254.169.254/jwks'}\n"),
    code: "MESH0019",
    at: "jwksUri",
    says: ["cannot be fetched", "169.254.169.254 is a link-local address"],
  },
  "keys of an issuer that is not a URL": {
    yaml: security("RequestAuthentication", "  jwtRules:\n  - {issuer: me}\n"),
    code: "MESH0019",
    at: "issuer",
    says: ["cannot be discovered", "set jwksUri or jwks"],
  },
  "a host of a Sidecar that does not exist": {
    yaml: networking("Sidecar", "  egress: [{hosts: ['./reviws.shop.svc.cluster.local']}]\n"),
    code: "MESH0005",
    at: "reviws",
    says: ["reviws", "reviews.shop.svc.cluster.local"],
  },
  "a service without workloads": {
    yaml: service("empty", "http", 80),
    code: "MESH0009",
    at: "selector",
    says: ["app=empty", "no endpoints"],
  },
  "a PeerAuthentication that selects nothing": {
    yaml: security("PeerAuthentication", "  selector: {matchLabels: {app: reviws}}\n  mtls: {mode: STRICT}\n"),
    code: "MESH0010",
    at: "reviws",
    says: ["app=reviws"],
  },
  "a delegate that does not exist": {
    yaml: route("delegate: {name: rest}"),
    code: "MESH0006",
    at: "delegate",
    says: ["shop/rest"],
  },
  "a gateway in a match that the VirtualService is not bound to": {
    yaml: route("{match: [{gateways: [istio-system/front]}], route: [{destination: {host: ratings}}]}"),
    code: "MESH0014",
    at: "gateways",
    says: ["istio-system/front", "never applies"],
  },
  "a method in lower case": {
    yaml: security("AuthorizationPolicy", "  rules:\n  - to: [{operation: {methods: [get]}}]\n"),
    code: "MESH0014",
    at: "get",
    says: ['did you mean "GET"?'],
  },
  "a principal with its scheme": {
    yaml: security(
      "AuthorizationPolicy",
      "  rules:\n  - from: [{source: {principals: [spiffe://cluster.local/ns/shop/sa/a]}}]\n",
    ),
    code: "MESH0014",
    at: "spiffe",
    says: ['did you mean "cluster.local/ns/shop/sa/a"?'],
  },
  "a policy that denies everything": {
    yaml: security("AuthorizationPolicy", "  action: DENY\n  rules: [{}]\n"),
    code: "MESH0015",
    at: "rules",
    says: ["every request", "denied"],
  },
  "an injection label without a meaning": {
    yaml: "apiVersion: v1\nkind: Namespace\nmetadata: {name: other, labels: {istio-injection: enable}}\n",
    code: "MESH0018",
    at: "istio-injection",
    origin: "Namespace other",
    says: ['did you mean "enabled"?'],
  },
  "a route at a gateway that another one shadows": {
    yaml: networking(
      "VirtualService",
      "  hosts: [shop.example]\n  gateways: [istio-system/front]\n  http:\n  - route: [{destination: {host: ratings}}]\n",
      "z",
    ),
    code: "MESH0013",
    at: "host: ratings",
    origin: "VirtualService shop/z",
    says: ["shop/front", "shadowed"],
  },
  "an SNI of a Gateway with a wildcard within a label": {
    yaml: networking(
      "Gateway",
      "  selector: {istio: ingressgateway}\n  servers:\n  - port: {number: 8443, name: tls, protocol: TLS}\n    hosts: ['*-a.example.com']\n    tls: {mode: PASSTHROUGH}\n",
      "z",
    ),
    code: "MESH0020",
    at: "*-a.example.com",
    origin: "Gateway shop/z",
    says: ["*-a.example.com", "write *.example.com"],
  },
  "a credential without a name": {
    yaml: networking(
      "Gateway",
      "  selector: {istio: ingressgateway}\n  servers:\n  - port: {number: 8443, name: tls, protocol: HTTPS}\n    hosts: [a.example.com]\n    tls: {mode: SIMPLE, credentialName: 'sds://'}\n",
      "z",
    ),
    code: "MESH0020",
    at: "sds://",
    origin: "Gateway shop/z",
    says: ["names no secret"],
  },
  "an SNI of a TLS route with a wildcard within a label": {
    yaml: networking(
      "VirtualService",
      "  hosts: ['*.example.com']\n  tls:\n  - match: [{port: 443, sniHosts: ['*a.example.com']}]\n    route: [{destination: {host: ratings}}]\n",
      "z",
    ),
    code: "MESH0020",
    at: "*a.example.com",
    origin: "VirtualService shop/z",
    says: ["*a.example.com"],
  },
  "a TLS host of a ServiceEntry with a wildcard within a label": {
    yaml: networking(
      "ServiceEntry",
      "  hosts: ['*-b.example.com']\n  ports: [{number: 443, name: tls, protocol: TLS}]\n  resolution: NONE\n",
      "z",
    ),
    code: "MESH0020",
    at: "*-b.example.com",
    origin: "ServiceEntry shop/z",
    says: ["*-b.example.com"],
  },
  "an exportTo that hides a route from its gateway": {
    yaml: networking(
      "VirtualService",
      "  hosts: [shop.example]\n  gateways: [istio-system/front]\n  exportTo: [.]\n  http:\n  - match: [{uri: {prefix: /x}}]\n    route: [{destination: {host: ratings}}]\n",
    ),
    code: "MESH0016",
    at: "gateways",
    says: ["istio-system", "exportTo"],
  },
};

/** Returns the line of a text, from 1. */
function lineOf(text: string, part: string): number {
  const at = text.indexOf(part);
  if (at < 0) throw new Error(`${part} is not in the text`);
  return text.slice(0, at + part.length).split("\n").length - (part.endsWith("\n") ? 1 : 0);
}

test("a correct mesh has no findings", () => {
  expect(analyze("")).toEqual([]);
});

describe("a mistake is reported:", () => {
  it.each(Object.entries(mistakes))("%s", (_, { yaml, code, at, origin, says }) => {
    const messages = analyze(yaml);
    const found = messages.filter(
      (message) => message.code === code && (origin === undefined || message.origin === origin),
    );
    expect(found, JSON.stringify(messages, undefined, 1)).not.toHaveLength(0);
    expect(found.map(({ reference }) => reference)).toContain(`new.yaml:${lineOf(yaml, at)}`);
    const text = found.map(({ message }) => message).join("\n");
    for (const part of says) expect(text).toContain(part);
  });
});
