import { describe, expect, it } from "vitest";
import { type NodeVersion, usesNativeSidecars } from "@istiod/injector";
import { injected, names, podOf, refusal, type TestPod } from "./injection-fixtures.js";

const proxyOf = ({ spec }: TestPod) =>
  [...spec.containers, ...(spec.initContainers ?? [])].find(({ name }) => name === "istio-proxy");

describe("templates", () => {
  const templates = {
    extra: 'metadata: {annotations: {extra: "yes"}}',
    more: 'metadata: {annotations: {more: "yes"}}',
  };
  const added = (pod: TestPod): readonly string[] =>
    Object.keys(pod.metadata.annotations ?? {}).filter((name) => ["extra", "more"].includes(name));

  it("are the default ones", () => {
    const pod = injected(podOf(), { templates, config: { defaultTemplates: ["extra", "more"] } });
    expect(added(pod)).toEqual(["extra", "more"]);
    expect(names(pod.spec.containers)).toEqual(["app"]);
  });

  it("are those of the annotation, with spaces and aliases", () => {
    const config = { aliases: { both: ["extra", "more"] } };
    const annotations = { "inject.istio.io/templates": "sidecar, both" };
    const pod = injected(podOf(annotations), { templates, config });
    expect(added(pod)).toEqual(["extra", "more"]);
    expect(proxyOf(pod)).toBeDefined();
  });

  it("must exist", () => {
    expect(refusal(podOf({ "inject.istio.io/templates": "nope" }))).toBe(
      'requested template "nope" not found; have sidecar',
    );
  });

  it("must be YAML that fits a Pod", () => {
    const withTemplate = (template: string): string => refusal(podOf(), { templates: { sidecar: template } });
    expect(withTemplate("spec: [")).toContain("failed parsing generated injected YAML");
    expect(withTemplate("just words")).toContain("its output is a string, expected an object");
    expect(withTemplate("spec: {containers: [{image: x}]}")).toContain("containers: has an element without name");
    expect(withTemplate("metadata: {annotations: {a: 1}}")).toContain(
      'annotations["a"]: is a number, expected a string',
    );
    expect(withTemplate("{{ .Nope }}")).toContain("can't evaluate field Nope in type *inject.SidecarTemplateData");
  });

  it("can delete by null and by directives", () => {
    const template = `
metadata: {annotations: {drop: null}}
spec:
  containers:
  - {name: old, $patch: delete}
`;
    const pod = injected(podOf({ drop: "1", keep: "1" }, [{ name: "old" }]), { templates: { sidecar: template } });
    expect(names(pod.spec.containers)).toEqual(["app"]);
    expect(Object.keys(pod.metadata.annotations ?? {})).toContain("keep");
    expect(Object.keys(pod.metadata.annotations ?? {})).not.toContain("drop");
  });
});

describe("a user's istio-proxy", () => {
  const own = {
    name: "istio-proxy",
    image: "auto",
    env: [{ name: "OWN", value: "1" }],
    resources: { limits: { cpu: "2" } },
  };

  it("keeps its settings, with the template's image for auto", () => {
    const pod = injected(podOf({}, [own]));
    expect(proxyOf(pod)).toMatchObject({
      image: "hub/proxyv2:1",
      resources: { limits: { cpu: "2" } },
      env: expect.arrayContaining([
        { name: "OWN", value: "1" },
        { name: "WORKLOAD", value: "Pod/web" },
      ]) as unknown,
    });
    expect(JSON.parse(pod.metadata.annotations?.["proxy.istio.io/overrides"] ?? "")).toEqual({
      containers: [{ name: "istio-proxy", env: own.env, resources: own.resources }],
    });
  });

  it("keeps them after another injection", () => {
    const once = injected(podOf({}, [own]));
    expect(injected(once)).toEqual(once);
  });

  it("becomes an init container where proxies are native sidecars", () => {
    const pod = injected(podOf({}, [own]), { injector: { nativeSidecars: () => true } });
    expect(names(pod.spec.containers)).toEqual(["app"]);
    expect(proxyOf(pod)?.env).toContainEqual({ name: "OWN", value: "1" });
  });

  it("gives its user to redirection", () => {
    const pod = injected(podOf({}, [{ ...own, securityContext: { runAsUser: 4000 } }]));
    expect(pod.spec.initContainers?.[0]?.args).toEqual(["-u", "4000"]);
    const tproxy = { "sidecar.istio.io/interceptionMode": "TPROXY" };
    const root = injected(podOf(tproxy, [{ ...own, securityContext: { runAsUser: 4000 } }]));
    expect(proxyOf(root)?.securityContext?.runAsUser).toBe(0);
  });

  it("is refused if the overrides are no JSON of containers", () => {
    expect(refusal(podOf({ "proxy.istio.io/overrides": "{" }))).toContain("annotation proxy.istio.io/overrides");
    expect(refusal(podOf({ "proxy.istio.io/overrides": '{"containers":[{"name":5}]}' }))).toContain(
      "containers[0].name: is a number, expected a string",
    );
  });
});

describe("order of containers", () => {
  const withInit = { ...podOf(), spec: { containers: [{ name: "app" }], initContainers: [{ name: "migrate" }] } };

  it("has the proxy last, and redirection after other init containers", () => {
    const pod = injected(withInit);
    expect(names(pod.spec.containers)).toEqual(["app", "istio-proxy"]);
    expect(names(pod.spec.initContainers)).toEqual(["migrate", "istio-init"]);
  });

  it.each([
    ["the mesh", { mesh: { defaultConfig: { holdApplicationUntilProxyStarts: true } } }, {}],
    [
      "the values",
      { values: { global: { hub: "hub", tag: 1, proxy: { holdApplicationUntilProxyStarts: true } } } },
      {},
    ],
    ["the annotation", {}, { "proxy.istio.io/config": "holdApplicationUntilProxyStarts: true" }],
  ])("has the proxy first if %s holds the application", (_, options, annotations) => {
    expect(names(injected(podOf(annotations), options).spec.containers)).toEqual(["istio-proxy", "app"]);
  });

  it("has a native sidecar before other init containers", () => {
    const pod = injected(withInit, { injector: { nativeSidecars: () => true } });
    expect(names(pod.spec.initContainers)).toEqual(["istio-init", "istio-proxy", "migrate"]);
  });

  it("follows the annotation about native sidecars", () => {
    const off = injected(podOf({ "sidecar.istio.io/nativeSidecar": "false" }), {
      injector: { nativeSidecars: () => true },
    });
    expect(names(off.spec.containers)).toEqual(["app", "istio-proxy"]);
    const on = injected(podOf({ "sidecar.istio.io/nativeSidecar": "true" }));
    expect(names(on.spec.initContainers)).toEqual(["istio-init", "istio-proxy"]);
  });

  it.each<[string, readonly NodeVersion[] | undefined, string, boolean]>([
    ["all nodes are recent", [{ name: "a", kubeletVersion: "v1.33.0" }], "", true],
    [
      "a node is old",
      [
        { name: "a", kubeletVersion: "v1.34.1" },
        { name: "b", kubeletVersion: "v1.32.9" },
      ],
      "",
      false,
    ],
    [
      "the pod's node is recent",
      [
        { name: "a", kubeletVersion: "v1.34.1" },
        { name: "b", kubeletVersion: "v1.32.9" },
      ],
      "a",
      true,
    ],
    ["nodes are unknown", undefined, "", false],
  ])("detects native sidecars: %s", (_, nodes, nodeName, expected) => {
    expect(usesNativeSidecars("auto", nodes, nodeName)).toBe(expected);
    expect(usesNativeSidecars("true", nodes, nodeName)).toBe(true);
    expect(usesNativeSidecars("false", nodes, nodeName)).toBe(false);
  });
});

describe("metrics of applications", () => {
  const scraped = { "prometheus.io/scrape": "true", "prometheus.io/port": "9090", "prometheus/io/path": "/m" };
  const variable = (pod: TestPod): unknown =>
    proxyOf(pod)?.env?.find(({ name }) => name === "ISTIO_PROMETHEUS_ANNOTATIONS")?.value;

  it("are merged by the agent", () => {
    const pod = injected(podOf(scraped));
    expect(variable(pod)).toBe('{"scrape":"true","path":"/m","port":"9090"}');
    expect(pod.metadata.annotations).toMatchObject({
      "prometheus.io/port": "15020",
      "prometheus.io/path": "/stats/prometheus",
      "prometheus.io/scrape": "true",
    });
    expect(pod.metadata.annotations).not.toHaveProperty(["prometheus/io/path"]);
  });

  it("can have several targets", () => {
    const pod = injected(podOf({ "prometheus.istio.io/scrape-targets": "8080:/a, 8081" }));
    expect(variable(pod)).toBe(
      '{"scrape":"","path":"/a","port":"8080","targets":[{"port":"8080","path":"/a"},{"port":"8081","path":"/metrics"}]}',
    );
  });

  it.each([
    [{ "prometheus.io/scrape": "false" }, {}],
    [{ ...scraped, "prometheus.istio.io/merge-metrics": "false" }, {}],
    [scraped, { mesh: { enablePrometheusMerge: false } }],
  ])("stay as they are with %j %j", (annotations, options) => {
    const pod = injected(podOf(annotations), options);
    expect(variable(pod)).toBeUndefined();
    expect(pod.metadata.annotations).toMatchObject(annotations);
  });

  it.each([
    ["15020x", "is invalid"],
    ["15090", "is reserved for Istio (Envoy Prometheus"],
    ["015020", "conflicts with agent port"],
  ])("are refused on port %s", (port, message) => {
    expect(refusal(podOf({ "prometheus.io/port": port }))).toContain(message);
  });

  it("name the port behind TLS", () => {
    const proxy = { name: "istio-proxy", env: [{ name: "ENVOY_SECURE_MERGED_METRICS_PORT", value: "15091" }] };
    expect(injected(podOf({}, [proxy])).metadata.annotations).toMatchObject({
      "prometheus.istio.io/secure-port": "15091",
    });
  });
});

describe("probes", () => {
  const probe = { httpGet: { path: "/ready", port: 8080 }, timeoutSeconds: 2 };
  const pod = {
    ...podOf(),
    spec: { containers: [{ name: "app", readinessProbe: probe, startupProbe: { grpc: { port: 9000 } } }] },
  };
  const values = { sidecarInjectorWebhook: { rewriteAppHTTPProbe: true } };
  const probers = (injectedPod: TestPod): unknown =>
    proxyOf(injectedPod)?.env?.find(({ name }) => name === "ISTIO_KUBE_APP_PROBERS")?.value;

  it("go to the agent, which gets the original ones", () => {
    const result = injected(pod, { values });
    expect(result.spec.containers[0]?.readinessProbe).toEqual({
      httpGet: { path: "/app-health/app/readyz", port: 15020 },
      timeoutSeconds: 2,
    });
    expect(probers(result)).toBe(
      '{"/app-health/app/readyz":{"httpGet":{"path":"/ready","port":8080},"timeoutSeconds":2},' +
        '"/app-health/app/startupz":{"grpc":{"port":9000,"service":null}}}',
    );
    expect(injected(result, { values })).toEqual(result);
  });

  it("stay without the setting, or by annotation", () => {
    expect(probers(injected(pod))).toBeUndefined();
    const annotated = { ...pod, metadata: podOf({ "sidecar.istio.io/rewriteAppHTTPProbers": "false" }).metadata };
    expect(probers(injected(annotated, { values }))).toBeUndefined();
  });
});

describe("result of injection", () => {
  it("has a status with what templates added, and the revision", () => {
    const pod = injected(podOf(), { injector: { revision: "canary" } });
    expect(pod.metadata.annotations?.["sidecar.istio.io/status"]).toBe(
      '{"initContainers":["istio-init"],"containers":["istio-proxy"],"volumes":null,"imagePullSecrets":null,"revision":"canary"}',
    );
  });

  it("has the cluster and network of the request's path, and the pod's network before it", () => {
    const path = "/inject/cluster/west/net/n--slash--1";
    const pod = injected(podOf(), {}, { path });
    expect(proxyOf(pod)?.env).toEqual(
      expect.arrayContaining([
        { name: "ISTIO_META_CLUSTER_ID", value: "west" },
        { name: "ISTIO_META_NETWORK", value: "n/1" },
      ]),
    );
    expect(pod.metadata.labels).toEqual({ "topology.istio.io/network": "n/1" });
    const labelled = { ...podOf(), metadata: { labels: { "topology.istio.io/network": "own" } } };
    expect(proxyOf(injected(labelled, {}, { path }))?.env).toContainEqual({ name: "ISTIO_META_NETWORK", value: "own" });
  });

  it("has the user of the namespace on OpenShift", () => {
    const annotations = { "openshift.io/sa.scc.uid-range": "1000620000/10000" };
    const namespace = () => ({ metadata: { annotations } });
    const shared = { runAsUser: 1000620000 };
    const pod = {
      metadata: { name: "web" },
      spec: {
        containers: [
          { name: "app", securityContext: shared },
          { name: "istio-proxy", securityContext: shared },
        ],
      },
    };
    const result = injected(pod, { injector: { namespace } });
    expect(proxyOf(result)?.securityContext).toEqual({ runAsUser: 1000629999, runAsGroup: 1000629999 });
  });

  it("has the image that the type chooses", () => {
    const image = (annotations: Record<string, string>, values: object = {}): unknown =>
      proxyOf(injected(podOf(annotations), { values: { global: { hub: "hub", tag: "1.2-debug", ...values } } }))?.image;
    expect(image({})).toBe("hub/proxyv2:1.2-debug");
    expect(image({}, { variant: "distroless" })).toBe("hub/proxyv2:1.2-distroless");
    expect(image({ "sidecar.istio.io/proxyImageType": "default" })).toBe("hub/proxyv2:1.2");
    expect(image({ "proxy.istio.io/config": "image: {imageType: distroless}" })).toBe("hub/proxyv2:1.2-distroless");
  });

  it.each([
    ["ReplicaSet", "web-abc", { "pod-template-hash": "abc" }, "Deployment/web"],
    ["ReplicaSet", "web-abc", { "rollouts-pod-template-hash": "abc" }, "Rollout/web"],
    ["Job", "night-28000000", {}, "CronJob/night"],
    ["ReplicationController", "web-1", { deploymentconfig: "web" }, "DeploymentConfig/web"],
    ["StatefulSet", "db", {}, "StatefulSet/db"],
  ])("knows the workload of a pod of %s %s", (kind, name, labels, workload) => {
    const owner = { apiVersion: "apps/v1", kind, name, uid: "1", controller: true };
    const pod = { ...podOf(), metadata: { generateName: `${name}-`, labels, ownerReferences: [owner] } };
    expect(proxyOf(injected(pod))?.env).toContainEqual({ name: "WORKLOAD", value: workload });
  });

  it("keeps fields that are unknown here", () => {
    const pod = { ...podOf(), spec: { containers: [{ name: "app", future: { a: [1] } }], later: true } };
    expect(injected(pod).spec).toMatchObject({ containers: [{ name: "app", future: { a: [1] } }, {}], later: true });
  });
});
