import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { helmUnavailable } from "../src/index.js";
import { Charts, type RenderedObject } from "./rendered-charts.js";

const unavailable = await helmUnavailable();
let charts: Charts;

beforeAll(async () => {
  if (unavailable === undefined) charts = await Charts.copy();
}, 60_000);
afterAll(() => charts?.remove());
beforeEach((context) => context.skip(unavailable !== undefined, unavailable));

const set = (...values: readonly string[]): string[] => values.flatMap((value) => ["--set", value]);
const find = (objects: readonly RenderedObject[], kind: string, name: string): RenderedObject => {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  if (!found) throw new Error(`no ${kind} ${name} in ${objects.map((o) => `${o.kind} ${o.metadata.name}`).join(", ")}`);
  return found;
};
const environment = (objects: readonly RenderedObject[]): Record<string, string> => {
  const { env } = find(objects, "Deployment", "istiod")["spec"].template.spec.containers[0];
  return Object.fromEntries(env.map(({ name, value }: { name: string; value: string }) => [name, value]));
};

describe("values", () => {
  test("the user's come before those of the profile, and these before the defaults", async () => {
    const [profile, user] = await Promise.all([
      charts.render("istiod", ...set("profile=demo")),
      charts.render("istiod", ...set("profile=demo", "traceSampling=7")),
    ]);
    expect(environment(await charts.render("istiod"))["PILOT_TRACE_SAMPLING"]).toBe("1");
    expect(environment(profile)["PILOT_TRACE_SAMPLING"]).toBe("100");
    expect(environment(user)["PILOT_TRACE_SAMPLING"]).toBe("7");
  });

  test("a platform adds to a profile", async () => {
    const objects = await charts.render("istiod", ...set("profile=ambient", "global.platform=openshift"));
    expect(environment(objects)).toMatchObject({
      PILOT_ENABLE_AMBIENT: "true",
      PLATFORM: "openshift",
      CA_TRUSTED_NODE_ACCOUNTS: "kube-system/ztunnel",
    });
  });

  test("a compatibility version restores earlier defaults, which the user can override", async () => {
    const file = join(charts.directory, "values.yaml");
    await writeFile(file, "compatibilityVersion: 1.26\npilot: { env: { ENABLE_NATIVE_SIDECARS: true } }\n");
    expect(environment(await charts.render("istiod", "-f", file))).toMatchObject({
      ENABLE_NATIVE_SIDECARS: "true",
      PILOT_SIDECAR_PICK_BEST_SERVICE_NAMESPACE: "false",
    });
  });

  test("below pilot they are the same as without it", async () => {
    const objects = await charts.render("istiod", ...set("pilot.env.PILOT_PUSH_THROTTLE=5", "pilot.image=a/b:c"));
    expect(environment(objects)["PILOT_PUSH_THROTTLE"]).toBe("5");
    expect(find(objects, "Deployment", "istiod")["spec"].template.spec.containers[0].image).toBe("a/b:c");
  });

  test("variables of the chart that the user sets occur once", async () => {
    const objects = await charts.render("istiod", ...set("env.CLUSTER_ID=west"));
    const { env } = find(objects, "Deployment", "istiod")["spec"].template.spec.containers[0];
    expect(env.filter(({ name }: { name: string }) => name === "CLUSTER_ID")).toEqual([
      { name: "CLUSTER_ID", value: "west" },
    ]);
  });

  test.each([
    ["istiod", "profile=small", 'profile is "small": there is no such profile'],
    ["istiod", "compatibilityVersion=1.3", 'compatibilityVersion is "1.3": there is no such compatibilityVersion'],
    ["gateway", "platform=vm", 'platform is "vm": there is no such platform'],
    ["base", "defaults.global.hub=a", 'values below "defaults" have no effect'],
    ["istiod", "global.resourceScope=mesh", "must be all, cluster or namespace"],
    ["istiod", "global.pilotCertProvider=kubernetes", "must be istiod, or k8s.io/ and the name of a signer"],
    ["istiod", "global.pilotCertProvider=k8s.io/", "must be istiod, or k8s.io/ and the name of a signer"],
    ["istiod", "global.pilotCertProvider=k8s.io/a/b", "requires env.EXTERNAL_CA=ISTIOD_RA_KUBERNETES_API"],
    [
      "istiod",
      "global.pilotCertProvider=k8s.io/a/b,env.EXTERNAL_CA=ISTIOD_RA_KUBERNETES_API,global.certSigners={a/c}",
      "requires the signer a/b in global.certSigners",
    ],
    ["istiod", "env.EXTERNAL_CA=vault", 'env.EXTERNAL_CA is "vault": must be ISTIOD_RA_KUBERNETES_API'],
    ["istiod", "env.EXTERNAL_CA=ISTIOD_RA_KUBERNETES_API", "requires global.certSigners"],
    ["istiod", "istiodRemote.injectionURL=https://a", "requires istiodRemote.enabled"],
    ["istiod", "autoscaleMax=2", "must not be below autoscaleMin, which is 3"],
    ["istiod", "global.proxy.tracer=jaeger", "must be zipkin, datadog, lightstep, stackdriver or none"],
    ["istiod", "telemetry.v2.prometheus.configOverride.a=b", "was removed from Istio"],
    ["gateway", "kind=StatefulSet", "must be Deployment or DaemonSet"],
    ["gateway", "service.ports=null", "service.ports is empty"],
  ])("%s rejects %s", async (chart, value, reason) => {
    await expect(charts.render(chart, ...set(value))).rejects.toThrow(reason);
  });

  test("EXTERNAL_CA lets istiod have requests signed by the signers of global.certSigners, and by no others", async () => {
    const rulesOf = async (...values: string[]) => {
      const objects = await charts.render("istiod", ...set(...values));
      const role = find(objects, "ClusterRole", "istiod-clusterrole-istio-system");
      return (role["rules"] as { apiGroups: string[] }[]).filter(({ apiGroups }) =>
        apiGroups.includes("certificates.k8s.io"),
      );
    };
    expect(await rulesOf()).toEqual([]);
    const external = ["env.EXTERNAL_CA=ISTIOD_RA_KUBERNETES_API", "global.certSigners={example.com/a,example.com/b}"];
    expect(await rulesOf(...external, "env.PILOT_CERT_PROVIDER=k8s.io/example.com/a")).toEqual([
      {
        apiGroups: ["certificates.k8s.io"],
        resources: ["certificatesigningrequests"],
        verbs: ["create", "get", "watch", "delete"],
      },
      { apiGroups: ["certificates.k8s.io"], resources: ["certificatesigningrequests/approval"], verbs: ["update"] },
      {
        apiGroups: ["certificates.k8s.io"],
        resources: ["signers"],
        resourceNames: ["example.com/a", "example.com/b"],
        verbs: ["approve"],
      },
    ]);
  });

  test.each(["example.com/a", "example.com/*"])(
    "global.pilotCertProvider is the signer of istiod's certificate, with %s in global.certSigners",
    async (signer) => {
      const provider = "k8s.io/example.com/a";
      const external = `env.EXTERNAL_CA=ISTIOD_RA_KUBERNETES_API,global.certSigners={${signer}}`;
      const objects = await charts.render("istiod", ...set(`global.pilotCertProvider=${provider}`, external));
      const { env } = find(objects, "Deployment", "istiod")["spec"].template.spec.containers[0];
      expect(env.filter(({ name }: { name: string }) => name === "PILOT_CERT_PROVIDER")).toEqual([
        { name: "PILOT_CERT_PROVIDER", value: provider },
      ]);
      const role = find(objects, "ClusterRole", "istiod-clusterrole-istio-system");
      expect(role["rules"]).toContainEqual({
        apiGroups: ["certificates.k8s.io"],
        resources: ["signers"],
        resourceNames: [signer],
        verbs: ["approve"],
      });
    },
  );

  test("without effect are named by the notes", async () => {
    const notes = await charts.notes(
      "istiod",
      ...set("global.mtls.auto=true", "autoscaleMinimum=2", "global.proxies.a=b", "pilot.ingress.a=b"),
    );
    expect(notes.match(/^WARNING: .* has no effect/gm)?.toSorted()).toEqual([
      "WARNING: autoscaleMinimum has no effect",
      "WARNING: global.mtls has no effect",
      "WARNING: global.mtls has no effect",
      "WARNING: global.proxies has no effect",
      "WARNING: pilot.ingress has no effect",
    ]);
    expect(await charts.notes("istiod", ...set("global.hub=a", "cni.enabled=true"))).not.toContain("has no effect");
    expect(await charts.notes("istiod")).toContain("WARNING: global.hub is not set");
    expect(await charts.notes("gateway", ...set("replicas=2"))).toContain("WARNING: replicas has no effect");
  });
});

test.each([
  ["istiod", "pdb.minAvailable=2", []],
  ["istiod", "meshConfig.anything.below=1", []],
  ["istiod", "global.proxy.resource.requests.cpu=1", ["global.proxy.resource"]],
  ["istiod", "global.proxy.resources.requests.cpu=1", []],
  ["istiod", "global.logging.levels=debug", ["global.logging.levels"]],
  ["istiod", "sidecarInjectorWebhook.rewriteProbes=true", ["sidecarInjectorWebhook.rewriteProbes"]],
  ["istiod", "telemetry.v2.prometeus.enabled=true", ["telemetry.v2.prometeus"]],
  ["istiod", "pilot.cni.enable=true", []],
  ["istiod", "pilot.taint.enable=true", ["pilot.taint.enable"]],
  ["istiod", "global.proxy.startupProbe.thresholds=3", ["global.proxy.startupProbe.thresholds"]],
  ["istiod", "global.readerServiceAccount.name=a", []],
  ["istiod", "env.pilot_trace_sampling=2", ["env.pilot_trace_sampling"]],
  ["istiod", "env.Pilot_Enable_Ambient=true", ["env.Pilot_Enable_Ambient"]],
  ["istiod", "env.PILOT_ENABLE_AMBIENT=true", ["env.PILOT_ENABLE_AMBIENT"]],
  ["istiod", "env.http_proxy=proxy:3128,env.no_proxy=localhost", []],
  ["istiod", "gatewayClasses.istio.deployment.spec.replicas=2", []],
  [
    "istiod",
    "gatewayClasses.istio.deployment.spec.replicas=2,env.PILOT_ENABLE_GATEWAY_API_DEPLOYMENT_CONTROLLER=false",
    ["gatewayClasses"],
  ],
  ["istiod", "gatewayClasses.istio.deploymnt.spec.replicas=2", ["gatewayClasses.istio.deploymnt"]],
  ["istiod", "replicaCount=2", ["replicaCount"]],
  ["istiod", "pilot.replicaCount=2", ["pilot.replicaCount"]],
  ["istiod", "replicaCount=2,autoscaleEnabled=false", []],
  ["istiod", "autoscaleMin=4", []],
  ["istiod", "autoscaleMin=4,autoscaleEnabled=false", ["autoscaleMin"]],
  ["istiod", "resources.request.cpu=1", ["resources.request"]],
  ["istiod", "global.proxy.resources.limit.cpu=1", ["global.proxy.resources.limit"]],
  ["istiod", "profile=ambient", ["profile ambient", "env.PILOT_ENABLE_AMBIENT"]],
  ["istiod", "profile=demo", []],
  ["gateway", "service.port=80", ["service.port"]],
  ["gateway", "replicaCount=2", ["replicaCount"]],
  ["gateway", "replicaCount=2,autoscaling.enabled=false", []],
  ["gateway", "env.istio_meta_dns_capture=true", ["env.istio_meta_dns_capture"]],
  ["gateway", "env.http_proxy=proxy:3128,env.regionOfAccessLog=a", []],
  ["gateway", "resources.limit.cpu=1", ["resources.limit"]],
  ["gateway", "service.loadBalancerClass=a", []],
  ["gateway", "autoscaling.minimum=2", ["autoscaling.minimum"]],
  ["gateway", "serviceAccount.names=a", ["serviceAccount.names"]],
  ["base", "base.excludeCRDs={a}", ["base.excludeCRDs"]],
  ["base", "experimental.stable=true", ["experimental.stable"]],
])("%s with %s names these values without effect: %j", async (chart, value, names) => {
  const notes = await charts.notes(chart, ...set(value));
  const named = [...notes.matchAll(/^WARNING: (.*?) has no effect/gm)].map(([, name]) => name);
  expect(named.toSorted()).toEqual(names.toSorted());
});

test.each([
  ["global: {tag: 1.30}", "global.tag is the number 1.3: must be a string"],
  ["tag: 20260101", "tag is the number 2.0260101e+07: must be a string"],
  ["pilot: {tag: 1.2}", "tag is the number 1.2: must be a string"],
  ["revision: 1.30", "revision is the number 1.3: must be a string"],
  ["revisionTags: [prod, 1.2]", "revisionTags[1] is the number 1.2: must be a string"],
  ["global: {network: 1.5}", "global.network is the number 1.5: must be a string"],
])("istiod rejects %s, which is not what was written", async (text, reason) => {
  await writeFile(join(charts.directory, "values.yaml"), text);
  await expect(charts.render("istiod", "-f", join(charts.directory, "values.yaml"))).rejects.toThrow(reason);
});

test("a string that looks like a number is a tag", async () => {
  await writeFile(join(charts.directory, "values.yaml"), 'global: {tag: "1.30"}');
  const objects = await charts.render("istiod", "-f", join(charts.directory, "values.yaml"));
  expect(find(objects, "Deployment", "istiod")["spec"].template.spec.containers[0].image).toMatch(/:1\.30$/);
});

test("an incomplete chart says what to do", async () => {
  const incomplete = await Charts.copy();
  try {
    await writeFile(join(incomplete.directory, "base/files/complete.gen.txt"), "");
    await expect(incomplete.render("base")).rejects.toThrow("npm run manifests");
  } finally {
    await incomplete.remove();
  }
});

test("a packaged chart renders the same as its folder", async () => {
  await charts.run("package", "istiod", "--destination", ".");
  expect(await charts.render("istiod-0.1.0.tgz")).toEqual(await charts.render("istiod"));
});

test("the mesh configuration is that of the values, and meshConfig comes first", async () => {
  const objects = await charts.render(
    "istiod",
    ...set("global.meshID=m", "meshConfig.trustDomain=example.com", "meshConfig.rootNamespace=config"),
  );
  expect(parse(find(objects, "ConfigMap", "istio")["data"].mesh)).toEqual({
    trustDomain: "example.com",
    rootNamespace: "config",
    enablePrometheusMerge: true,
    defaultProviders: { metrics: ["prometheus"] },
    defaultConfig: { discoveryAddress: "istiod.istio-system.svc:15012", meshId: "m" },
  });
});

test("a tag selects the namespaces with its name, and calls the istiod of its revision", async () => {
  const objects = await charts.render("istiod", ...set("revision=v2", "revisionTags={canary}"));
  const { webhooks } = find(objects, "MutatingWebhookConfiguration", "istio-revision-tag-canary");
  expect(webhooks).toHaveLength(2);
  expect(webhooks[0]).toMatchObject({
    name: "rev.namespace.sidecar-injector.istio.io",
    clientConfig: { service: { name: "istiod-v2", namespace: "istio-system", path: "/inject", port: 443 } },
    namespaceSelector: {
      matchExpressions: [
        { key: "istio.io/rev", operator: "In", values: ["canary"] },
        { key: "istio-injection", operator: "DoesNotExist" },
      ],
    },
  });
  expect(find(objects, "Service", "istiod-revision-tag-canary")["spec"].selector).toEqual({
    app: "istiod",
    "istio.io/rev": "v2",
  });
});

test("an upgrade leaves the failure policy of the validation webhooks to istiod", async () => {
  const policies = async (...args: readonly string[]) =>
    [...(await charts.render("istiod", ...args)), ...(await charts.render("base", ...args))]
      .filter(({ kind, metadata }) => kind === "ValidatingWebhookConfiguration" && !/warnings/.test(metadata.name))
      .map(({ webhooks }) => webhooks[0].failurePolicy);
  expect(await policies()).toEqual(["Ignore", "Ignore"]);
  expect(await policies("--is-upgrade")).toEqual([undefined, undefined]);
  expect(await policies(...set("base.validationFailurePolicy=Fail"))).toEqual(["Fail", "Fail"]);
});

test("webhooks that warn about objects of Kubernetes never reject one, and are of a revision or of the default one", async () => {
  const warning = async (chart: string, ...args: readonly string[]) =>
    (await charts.render(chart, ...args)).filter(
      ({ kind, metadata }) => kind === "ValidatingWebhookConfiguration" && /warnings/.test(metadata.name),
    );
  const [ofDefault] = await warning("base", ...set("base.validationFailurePolicy=Fail"));
  // An istiod that does not know these webhooks would set their policy by the label `istio.io/rev`.
  expect(ofDefault?.metadata.labels).toMatchObject({ "internal.istio.io/warnings-rev": "default" });
  expect(ofDefault?.metadata.labels).not.toHaveProperty("istio.io/rev");
  expect(ofDefault?.["webhooks"]).toMatchObject([
    {
      clientConfig: { service: { name: "istiod", path: "/warn" } },
      failurePolicy: "Ignore",
      timeoutSeconds: 1,
      namespaceSelector: { matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "NotIn" }] },
    },
  ]);
  const [ofRevision] = await warning("istiod", ...set("revision=v2"));
  expect(ofRevision?.["webhooks"]).toMatchObject([
    {
      clientConfig: { service: { name: "istiod-v2" } },
      failurePolicy: "Ignore",
      namespaceSelector: {
        matchExpressions: [{ operator: "NotIn" }, { key: "istio.io/rev", operator: "In", values: ["v2"] }],
      },
    },
  ]);
  const outside = set("base.validationURL=https://istiod.example.com:15017/validate");
  expect((await warning("base", ...outside))[0]?.["webhooks"]).toMatchObject([
    { clientConfig: { url: "https://istiod.example.com:15017/warn" } },
  ]);
  for (const chart of ["base", "istiod"]) expect(await warning(chart, ...set("base.configWarnings=false"))).toEqual([]);
});

test("templates of injection are the files of the chart, and those of the user by name", async () => {
  const folder = join(charts.directory, "istiod/files/injection-templates");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "proxyless.yaml"), "metadata: { labels: { a: {{ .Values.b }} } }\n");
  const objects = await charts.render("istiod", ...set("sidecarInjectorWebhook.templates.own=x"));
  const config = parse(find(objects, "ConfigMap", "istio-sidecar-injector")["data"].config);
  expect(config.templates).toMatchObject({ proxyless: "metadata: { labels: { a: {{ .Values.b }} } }", own: "x" });
});

test("istiod has the context that the restricted Pod Security Standard demands", async () => {
  const { spec } = find(await charts.render("istiod"), "Deployment", "istiod")["spec"].template;
  expect(spec.containers[0].securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    capabilities: { drop: ["ALL"] },
    seccompProfile: { type: "RuntimeDefault" },
  });
  for (const volume of spec.volumes)
    expect(Object.keys(volume).filter((name) => name !== "name")).toEqual([
      expect.stringMatching(/^(emptyDir|projected|secret|configMap)$/),
    ]);
});
