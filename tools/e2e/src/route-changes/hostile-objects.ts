import { gatewayPort } from "./fixed-objects.js";

/** The host of a route whose backend is of another namespace, without a ReferenceGrant. */
export const ungrantedHost = "steal.example";

const later = 'creationTimestamp: "2026-06-01T00:00:00Z"';
const gatewayRef = "{name: ingress, namespace: edge}";

function hostileRoute(name: string, parent: string, host: string, rule: string): string {
  return `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: ${name}, namespace: hostile, ${later}}
spec: {parentRefs: [${parent}], hostnames: [${host}], rules: [${rule}]}
`;
}

function listenerSet(name: string, parent: string, listeners: string): string {
  return `---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: ${name}, namespace: hostile, ${later}}
spec: {parentRef: ${parent}, listeners: [${listeners}]}
`;
}

const toThief = "{backendRefs: [{name: thief, port: 8000}]}";

/** Objects of the namespace `hostile` that must change nothing for others, by what they do. */
export const hostileObjects: Readonly<Record<string, string>> = {
  "listeners of a ListenerSet that conflict with those of the Gateway":
    listenerSet(
      "conflicts",
      gatewayRef,
      [
        `{name: same, port: ${gatewayPort}, protocol: HTTP, hostname: shop.example}`,
        `{name: tcp, port: ${gatewayPort}, protocol: TCP}`,
        `{name: tls, port: ${gatewayPort}, protocol: HTTPS, hostname: shop.example, tls: {certificateRefs: [{name: none, namespace: shop}]}}`,
      ].join(", "),
    ) + hostileRoute("of-conflicts", "{kind: ListenerSet, name: conflicts}", "shop.example", toThief),
  "a ListenerSet that names itself":
    listenerSet(
      "self",
      "{kind: ListenerSet, name: self}",
      `{name: same, port: ${gatewayPort}, protocol: HTTP, hostname: shop.example}`,
    ) + hostileRoute("of-self", "{kind: ListenerSet, name: self}", "shop.example", toThief),
  "a Gateway of the same Service whose listener has another protocol": `---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: other, namespace: hostile, ${later}}
spec:
  gatewayClassName: istio
  addresses: [{type: Hostname, value: ingress.edge.svc.cluster.local}]
  listeners: [{name: tcp, port: ${gatewayPort}, protocol: TCP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: other, namespace: hostile, ${later}}
spec: {parentRefs: [{name: other}], rules: [{backendRefs: [{name: thief, port: 8000}]}]}
`,
  "a later route of the host": hostileRoute("late", gatewayRef, "shop.example", toThief),
  "a backend of another namespace without a grant": hostileRoute(
    "steal",
    gatewayRef,
    ungrantedHost,
    "{backendRefs: [{name: web, namespace: shop, port: 8000}]}",
  ),
  "regular expressions that Envoy refuses":
    hostileRoute(
      "pattern",
      gatewayRef,
      "pattern.example",
      `{matches: [{path: {type: RegularExpression, value: "/(unclosed"}}], backendRefs: [{name: thief, port: 8000}]}`,
    ) +
    hostileRoute(
      "large-pattern",
      gatewayRef,
      "large.example",
      `{matches: [{path: {type: RegularExpression, value: "/unused/(([a-z0-9_-]{100}){100}){10}"}}], backendRefs: [{name: thief, port: 8000}]}`,
    ),
};
