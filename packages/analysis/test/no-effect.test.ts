import { expect, test } from "vitest";
import { messagesIn, object } from "./messages-in.js";

const codes = ["IST0107", "IST0108", "IST0125", "MESH0003", "MESH0018"];
const pod = { containers: [{ name: "app", image: "app" }] };
const deployment = (metadata: object, template: object): string =>
  `apiVersion: apps/v1\nkind: Deployment\nmetadata: ${JSON.stringify({ name: "cart", namespace: "shop", ...metadata })}\nspec:\n  template:\n    metadata: ${JSON.stringify(template)}\n    spec: ${JSON.stringify(pod)}\n`;
const namespace = (labels: object): string => object("Namespace", "shop", {}, { labels });
const podWith = (metadata: object): string =>
  object("Pod", "shop/cart", { spec: pod }, metadata as Record<string, unknown>);
const inject = "sidecar.istio.io/inject";

test.each<[string, string, string]>([
  [
    "a word on a Pod",
    podWith({ labels: { [inject]: "yes" } }),
    'label sidecar.istio.io/inject=yes is ignored, because it neither enables nor disables injection; expected "true" or "false"; did you mean "true"?',
  ],
  ["upper case on a Pod", podWith({ labels: { [inject]: "False" } }), 'did you mean "false"?'],
  [
    "a word in an annotation",
    podWith({ annotations: { [inject]: "enabled" } }),
    "annotation sidecar.istio.io/inject=enabled is ignored",
  ],
  [
    "a word in a template",
    deployment({}, { labels: { [inject]: "on" } }),
    "label sidecar.istio.io/inject=on is ignored",
  ],
  [
    "a label on a Deployment",
    deployment({ labels: { [inject]: "true" } }, {}),
    "label sidecar.istio.io/inject has no effect on a Deployment: it is read from Pods; set it in spec.template.metadata.labels",
  ],
  [
    "the Pod's label on a Namespace",
    namespace({ [inject]: "true" }),
    "label sidecar.istio.io/inject has no effect on a Namespace: it is read from Pods; label the namespace istio-injection=enabled",
  ],
  [
    "the Namespace's label on a Pod",
    podWith({ labels: { "istio-injection": "enabled" } }),
    "label istio-injection has no effect on a Pod: it is read from Namespaces; label the Pod sidecar.istio.io/inject=true",
  ],
  [
    "the Namespace's label on a Deployment",
    deployment({ labels: { "istio-injection": "enabled" } }, {}),
    "label istio-injection has no effect on a Deployment",
  ],
  [
    "a word on a Namespace",
    namespace({ "istio-injection": "true" }),
    "label istio-injection=true neither enables nor disables injection",
  ],
  [
    "an annotation on a Deployment",
    deployment({ annotations: { "traffic.sidecar.istio.io/excludeInboundPorts": "80" } }, {}),
    "it has no effect on a Deployment, it applies to Pod; move it to spec.template.metadata.annotations",
  ],
  [
    "a Pod's annotation on a Namespace",
    object("Namespace", "shop", {}, { annotations: { "proxy.istio.io/config": "{}" } }),
    "it has no effect on a Namespace, it applies to Pod",
  ],
  [
    "a misspelt annotation in a template",
    deployment({}, { annotations: { "traffic.sidecar.istio.io/excludeInboundPort": "80" } }),
    "annotation traffic.sidecar.istio.io/excludeInboundPort is unknown",
  ],
  [
    "ports of a template",
    deployment({}, { annotations: { "traffic.sidecar.istio.io/excludeInboundPorts": "80;81" } }),
    'it has "80;81", expected port numbers separated by commas',
  ],
  [
    "outbound ports",
    podWith({ annotations: { "traffic.sidecar.istio.io/includeOutboundPorts": "http" } }),
    'it has "http", expected port numbers separated by commas',
  ],
  [
    "a boolean",
    podWith({ annotations: { "sidecar.istio.io/rewriteAppHTTPProbers": "yes" } }),
    'it is "yes", expected true or false',
  ],
  [
    "an unknown field of the proxy's configuration",
    podWith({ annotations: { "proxy.istio.io/config": "concurency: 2" } }),
    "annotation proxy.istio.io/config has a part without effect: concurency ",
  ],
  [
    "a field without effect of the proxy's configuration",
    deployment({}, { annotations: { "proxy.istio.io/config": "customConfigFile: /a" } }),
    "part without effect: customConfigFile has no effect: bootstraps of one's own are not supported yet",
  ],
  [
    "ambient mode of a Namespace",
    namespace({ "istio.io/dataplane-mode": "ambient" }),
    "label istio.io/dataplane-mode=ambient has no effect: ambient mode is not supported yet",
  ],
  [
    "a waypoint of a Service",
    object("Service", "shop/cart", { spec: { ports: [{ port: 80 }] } }, { labels: { "istio.io/use-waypoint": "w" } }),
    "label istio.io/use-waypoint=w has no effect",
  ],
  [
    "ambient mode of a template",
    deployment({}, { labels: { "istio.io/dataplane-mode": "ambient" } }),
    "has no effect: ambient mode",
  ],
  [
    "a RequestAuthentication of a Service",
    object("RequestAuthentication", "shop/a", { spec: { targetRefs: [{ kind: "Service", group: "", name: "cart" }] } }),
    "kind Service has no effect: only waypoints apply it",
  ],
  [
    "a Telemetry of a Service",
    object("Telemetry", "shop/a", { spec: { targetRefs: [{ kind: "Service", group: "", name: "cart" }] } }),
    "kind Service has no effect: only waypoints apply it",
  ],
  [
    "an AuthorizationPolicy of a ServiceEntry",
    object("AuthorizationPolicy", "shop/a", {
      spec: { targetRefs: [{ kind: "ServiceEntry", group: "networking.istio.io", name: "cart" }] },
    }),
    "kind ServiceEntry has no effect",
  ],
])("%s is reported", (_, text, message) => {
  const messages = messagesIn(text, codes).filter((found) => found.includes(message));
  expect(messages, messagesIn(text, codes).join("\n")).toHaveLength(1);
});

test.each<[string, string]>([
  ["true on a Pod", podWith({ labels: { [inject]: "true" } })],
  ["false in a template", deployment({}, { labels: { [inject]: "false" } })],
  ["enabled on a Namespace", namespace({ "istio-injection": "enabled" })],
  [
    "no ambient mode",
    namespace({ "istio-injection": "enabled", "istio.io/dataplane-mode": "none", "istio.io/use-waypoint": "none" }),
  ],
  [
    "ports of a template",
    deployment({}, { annotations: { "traffic.sidecar.istio.io/excludeInboundPorts": "80, 81" } }),
  ],
  ["every outbound port", podWith({ annotations: { "traffic.sidecar.istio.io/includeOutboundPorts": "*" } })],
  ["a sound proxy configuration", podWith({ annotations: { "proxy.istio.io/config": "concurrency: 2" } })],
  [
    "a policy of a Gateway",
    object("AuthorizationPolicy", "shop/a", {
      spec: { targetRefs: [{ kind: "Gateway", group: "gateway.networking.k8s.io", name: "g" }] },
    }),
  ],
])("%s is not reported", (_, text) => {
  expect(messagesIn(text, codes)).toEqual([]);
});
