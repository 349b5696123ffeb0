import { describe, expect, it } from "vitest";
import { messagesOf, placesOf } from "./messages-of.js";

const namespace = (name: string, labels: string): string =>
  `apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ${name}\n  labels: {${labels}}\n---\n`;

const pod = (name: string, containers: string, extra = ""): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}, namespace: shop${extra}}\nspec: {containers: [${containers}]}\n---\n`;

const injector = (name: string, values: object): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: istio-system}\ndata: {values: '${JSON.stringify(values)}'}\n---\n`;

describe("labels of namespaces", () => {
  const labels = "injection.Analyzer";

  it("are reported as missing if injection is neither enabled nor disabled", () => {
    expect(messagesOf(labels, namespace("shop", ""))).toEqual([
      "IST0102 Namespace shop 4: namespace shop is not enabled for Istio injection; label it istio-injection=enabled to inject sidecars, or istio-injection=disabled to opt out explicitly",
    ]);
    const decided = ["istio-injection: disabled", "istio.io/rev: canary", "istio.io/dataplane-mode: ambient"];
    expect(decided.flatMap((given) => messagesOf(labels, namespace("shop", given)))).toEqual([]);
    expect(["istio-system", "kube-system"].flatMap((name) => messagesOf(labels, namespace(name, "")))).toEqual([]);
  });

  it("are not required if injection is on by default", () => {
    const enabled = injector("istio-sidecar-injector", { sidecarInjectorWebhook: { enableNamespacesByDefault: true } });
    expect(placesOf(labels, namespace("shop", "") + enabled)).toEqual(["IST0148 Namespace shop 4"]);
    const unreadable = injector("istio-sidecar-injector", [1]);
    expect(placesOf(labels, namespace("shop", "") + unreadable)).toEqual(["IST0102 Namespace shop 4"]);
  });

  it("conflict if several enable injection", () => {
    expect(messagesOf(labels, namespace("shop", "istio-injection: enabled, istio.io/rev: canary"))).toEqual([
      "IST0123 Namespace shop 5: namespace shop has more than one injection label (istio-injection=enabled, istio.io/rev=canary), which may conflict; keep one of them",
    ]);
    expect(placesOf(labels, namespace("shop", "istio.io/rev: canary, istio.io/dataplane-mode: ambient"))).toEqual([
      "IST0123 Namespace shop 5",
    ]);
    expect(placesOf(labels, namespace("shop", "istio-injection: disabled, istio.io/rev: canary"))).toEqual([]);
  });
});

describe("pods without a sidecar", () => {
  const sidecars = "injection.Analyzer";
  const app = "{name: app, image: app}";

  it("are reported in namespaces with istio-injection=enabled", () => {
    const shop = namespace("shop", "istio-injection: enabled");
    expect(placesOf(sidecars, shop + pod("cart", app))).toEqual(["IST0103 Pod shop/cart 9"]);
    expect(placesOf(sidecars, namespace("shop", "istio.io/rev: canary") + pod("cart", app))).toEqual([]);
  });

  it("are not reported if they have a proxy, use the host network, or opt out", () => {
    const shop = namespace("shop", "istio-injection: enabled");
    const others = [
      pod("a", `${app}, {name: istio-proxy, image: proxyv2}`),
      pod("b", app, ', labels: {sidecar.istio.io/inject: "False"}'),
      pod("c", app, ', annotations: {sidecar.istio.io/inject: "false"}'),
      pod("d", app).replace("spec: {", "spec: {hostNetwork: true, "),
    ];
    expect(others.flatMap((text) => placesOf(sidecars, shop + text))).toEqual([]);
    const overridden = pod(
      "e",
      app,
      ', labels: {sidecar.istio.io/inject: "true"}, annotations: {sidecar.istio.io/inject: "false"}',
    );
    expect(placesOf(sidecars, shop + overridden)).toEqual(["IST0103 Pod shop/e 9"]);
  });
});

describe("images of proxies", () => {
  const images = "injection.ImageAnalyzer";
  const shop = namespace("shop", "istio-injection: enabled");
  const values = { global: { hub: "docker.io/istio", tag: "1.27.0", proxy: { image: "proxyv2" } } };
  const running = (name: string, image: string, extra?: string): string =>
    pod(name, `{name: istio-proxy, image: ${image}}`, extra);

  it("must be the images that injection sets", () => {
    const text = shop + injector("istio-sidecar-injector", values);
    expect(
      messagesOf(
        images,
        text + running("old", "docker.io/istio/proxyv2:1.26.0") + running("new", "docker.io/istio/proxyv2:1.27.0"),
      ),
    ).toEqual([
      "IST0158 Namespace shop 1: pods in namespace shop run another proxy image than injection gives them (docker.io/istio/proxyv2:1.27.0): old; restart them to update their sidecars",
    ]);
    expect(
      placesOf(images, text + running("own", "mine", ", annotations: {sidecar.istio.io/proxyImage: mine}")),
    ).toEqual([]);
    expect(placesOf(images, shop + running("unknown", "docker.io/istio/proxyv2:1.26.0"))).toEqual([]);
  });

  it("come from the injector of the namespace's revision", () => {
    const canary = injector("istio-sidecar-injector-canary", { global: { proxy: { image: "mirror/proxyv2:2" } } });
    const text = namespace("shop", "istio.io/rev: canary") + injector("istio-sidecar-injector", values) + canary;
    expect(placesOf(images, text + running("a", "mirror/proxyv2:2"))).toEqual([]);
    expect(placesOf(images, text + running("a", "docker.io/istio/proxyv2:1.27.0"))).toEqual([
      "IST0158 Namespace shop 1",
    ]);
  });

  it("may have the image type that the mesh, a ProxyConfig or the pod requests", () => {
    const text =
      shop + injector("istio-sidecar-injector", values) + running("a", "docker.io/istio/proxyv2:1.27.0-distroless");
    const config = (namespaceOf: string, type: string, selector = ""): string =>
      `apiVersion: networking.istio.io/v1beta1\nkind: ProxyConfig\nmetadata: {name: a, namespace: ${namespaceOf}}\nspec: {${selector}image: {imageType: ${type}}}\n---\n`;
    const meshConfig = { file: "mesh.yaml", text: "defaultConfig: {image: {imageType: distroless}}" };
    expect(placesOf(images, text)).toEqual(["IST0158 Namespace shop 1"]);
    expect(placesOf(images, text, { meshConfig })).toEqual([]);
    expect(placesOf(images, text + config("shop", "default"), { meshConfig })).toEqual(["IST0158 Namespace shop 1"]);
    expect(placesOf(images, text + config("istio-system", "distroless"))).toEqual([]);
    expect(placesOf(images, text + config("shop", "distroless", "selector: {matchLabels: {app: a}}, "))).toEqual([
      "IST0158 Namespace shop 1",
    ]);
    const annotated = text.replace(
      "namespace: shop}\nspec: {cont",
      "namespace: shop, annotations: {proxy.istio.io/config: '{image: {imageType: distroless}}'}}\nspec: {cont",
    );
    expect(placesOf(images, annotated)).toEqual([]);
  });
});

describe("image: auto", () => {
  const auto = "injection.ImageAutoAnalyzer";
  const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: gateway, namespace: shop}
spec:
  template:
    metadata: {labels: {inject: "yes"}}
    spec:
      containers:
      - name: istio-proxy
        image: auto
---
`;
  const webhook = (name: string, requirement: string): string =>
    `apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: injector}\nwebhooks:\n- name: ${name}\n  objectSelector: {matchExpressions: [{key: inject, ${requirement}}]}\n---\n`;

  it("is reported in a pod", () => {
    expect(placesOf(auto, pod("a", "{name: app}, {name: istio-proxy, image: auto}"))).toEqual(["IST0147 Pod shop/a 4"]);
    expect(placesOf(auto, pod("a", "{name: other, image: auto}"))).toEqual([]);
  });

  it("requires a webhook in a Deployment", () => {
    expect(messagesOf(auto, deployment)).toEqual([
      'IST0146 Deployment shop/gateway 10: Deployment gateway has "image: auto" but no injection webhook selects its pods; enable injection for namespace shop or for the pods',
    ]);
    expect(placesOf(auto, deployment + webhook("a.istio.io", "operator: In, values: ['yes']"))).toEqual([]);
    for (const other of [
      webhook("a.example.com", "operator: Exists"),
      webhook("a.istio.io", "operator: Exists, values: [a]"),
      webhook("a.istio.io", "operator: NotIn, values: []"),
    ])
      expect(placesOf(auto, deployment + other)).toEqual(["IST0146 Deployment shop/gateway 10"]);
  });
});
