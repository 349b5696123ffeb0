import { analyzeTexts, findings, type Message, type TextsToAnalyze } from "@istiod/analysis";
import {
  absentReadersOf,
  applyChanges,
  directorySecretKind,
  type Kind,
  readText,
  type RunningParts,
  secretKind,
  writeAbsentReaders,
} from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { noProxy, type Proxy } from "@istiod/push-context";
import { describe, expect, it, test } from "vitest";
import { describeMistakes, type Mistake } from "./found-mistakes.js";
import { analyzeAdded } from "./messages-of.js";
import { documentOf, type Fields, objectWriter } from "./mistake-objects.js";

const versions: Readonly<Record<string, string>> = {
  Service: "v1",
  Pod: "v1",
  Secret: "v1",
  Namespace: "v1",
  Deployment: "apps/v1",
  Telemetry: "telemetry.istio.io/v1",
  PeerAuthentication: "security.istio.io/v1",
  HTTPRoute: "gateway.networking.k8s.io/v1",
  GRPCRoute: "gateway.networking.k8s.io/v1",
  TCPRoute: "gateway.networking.k8s.io/v1",
  TLSRoute: "gateway.networking.k8s.io/v1",
  BackendTLSPolicy: "gateway.networking.k8s.io/v1",
};

const o = objectWriter(versions);
const namespace = (name: string): string =>
  documentOf({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels: { "istio-injection": "enabled" } } });
const service = (name: string, port: string, number: number): string =>
  o("Service", { clusterIP: "10.96.0.1", selector: { app: name }, ports: [{ name: port, port: number }] }, { name });
const pod = (app: string): string =>
  documentOf({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: app, namespace: "shop", labels: { app } },
    spec: { containers: [{ name: "istio-proxy", image: "proxyv2" }] },
    status: { phase: "Running", podIP: "10.0.0.1" },
  });

/** A mesh without a fault. */
const mesh = [
  namespace("shop"),
  namespace("istio-system"),
  ...[service("reviews", "http", 9080), service("ratings", "http", 9080), service("db", "tcp", 3306)],
  ...["reviews", "ratings", "db"].map(pod),
].join("");

const policy = (trafficPolicy: Fields): string => o("DestinationRule", { host: "ratings", trafficPolicy });
const toService = (name: string, port: number): Fields => ({
  parentRefs: [{ group: "", kind: "Service", name, port }],
});
const backends = (name = "ratings", port = 9080): Fields => ({ backendRefs: [{ name, port }] });
const route = (rule: Fields): string =>
  o("HTTPRoute", { ...toService("ratings", 9080), rules: [{ ...backends(), ...rule }] });
const filter = (type: string, settings: Fields): string => route({ filters: [{ type, ...settings }] });
const backendTls = o("BackendTLSPolicy", {
  targetRefs: [{ group: "", kind: "Service", name: "ratings" }],
  validation: { hostname: "a.example", wellKnownCACertificates: "System" },
});
const twoPorts = o(
  "Service",
  {
    selector: { app: "ratings" },
    ports: [
      { name: "http", port: 80 },
      { name: "https", port: 443 },
    ],
  },
  { name: "two" },
);
const tlsOfPort = backendTls.replace('"name": "ratings"', '"name": "two", "sectionName": "https"');
const twoPortPolicy = (trafficPolicy: Fields): string =>
  o("DestinationRule", { host: "two", trafficPolicy }, { name: "two" });
const template = (annotations: Fields, labels: Fields = {}, pod: Fields = {}): string =>
  o("Deployment", {
    selector: { matchLabels: { app: "ratings" } },
    template: { metadata: { labels: { app: "ratings", ...labels }, annotations }, spec: { containers: [], ...pod } },
  });
const kubeconfig = (user: Fields = { token: "t" }, server = "https://10.1.2.3:6443"): string =>
  JSON.stringify({
    clusters: [{ name: "c", cluster: { server } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  });
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const remote = (kubeconfigs: Readonly<Record<string, string>>, metadata: Fields = {}): string =>
  documentOf({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "a", namespace: "istio-system", labels: { "istio/multiCluster": "true" }, ...metadata },
    data: Object.fromEntries(Object.entries(kubeconfigs).map(([cluster, text]) => [cluster, base64(text)])),
  });

const mistakes: Readonly<Record<string, Mistake>> = {
  "gateway errors that are counted after all errors": [
    policy({ outlierDetection: { consecutive5xxErrors: 3, consecutiveGatewayErrors: 5 } }),
    "MESH0042",
    '"consecutiveGatewayErrors": 5',
    "has no effect: consecutive5xxErrors counts the same errors and ejects after 3",
  ],
  "warmup with a load balancer that has none": [
    policy({ loadBalancer: { simple: "RANDOM", warmup: { duration: "30s" } } }),
    "MESH0042",
    '"warmup": {',
    "has no effect with RANDOM, expected ROUND_ROBIN or LEAST_REQUEST",
  ],
  "warmup with consistent hashing": [
    policy({ loadBalancer: { consistentHash: { useSourceIp: true }, warmup: { duration: "30s" } } }),
    "MESH0042",
    '"warmup": {',
    "has no effect with consistentHash",
  ],
  "names to verify where TLS is disabled": [
    policy({ tls: { mode: "DISABLE", subjectAltNames: ["a.example"] } }),
    "MESH0042",
    '"subjectAltNames": [',
    "has no effect in mode DISABLE, which sends plaintext",
  ],
  "a policy of the root namespace with a selector": [
    o(
      "PeerAuthentication",
      { selector: { matchLabels: { app: "gateway" } }, mtls: { mode: "STRICT" } },
      { namespace: "istio-system" },
    ),
    "MESH0042",
    '"selector": {',
    "the policy has no effect: istio-system is the root namespace",
  ],
  "a listener of a Sidecar for a port that no service has": [
    o("Sidecar", { egress: [{ port: { number: 9999, name: "x", protocol: "HTTP" }, hosts: ["./*"] }] }),
    "MESH0044",
    '"number": 9999,',
    "which no service of the listener's hosts (./*) has",
  ],
  "metrics for a provider of access logs": [
    o("Telemetry", { metrics: [{ providers: [{ name: "envoy" }] }] }),
    "MESH0042",
    '"name": "envoy"',
    "is ignored: it is of kind envoyFileAccessLog, which is not supported for metrics",
  ],
  "access logs for a provider of metrics": [
    o("Telemetry", { accessLogging: [{ providers: [{ name: "prometheus" }] }] }),
    "MESH0042",
    '"name": "prometheus"',
    "is ignored: it is of kind prometheus, which is not supported for accessLogging",
  ],
  "tracing without any provider": [
    o("Telemetry", { tracing: [{ randomSamplingPercentage: 10 }] }),
    "MESH0042",
    "{",
    "has no effect where no other Telemetry names a provider",
  ],
  "a name for a service without resolution": [
    o("ServiceEntry", {
      hosts: ["vm.example"],
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      location: "MESH_INTERNAL",
      resolution: "STATIC",
      workloadSelector: { labels: { app: "vm" } },
    }) + o("WorkloadEntry", { address: "host.example", labels: { app: "vm" } }),
    "MESH0009",
    '"address": "host.example",',
    "a name, and cannot be an endpoint of ServiceEntry shop/a, whose resolution STATIC needs IP addresses",
  ],
  "an identity as a service account": [
    o("WorkloadEntry", { address: "10.0.0.9", labels: { app: "ratings" }, serviceAccount: "ns/shop/sa/vm" }),
    "MESH0014",
    '"serviceAccount": "ns/shop/sa/vm"',
    "which no service account is called",
  ],
  "more CPU than the limit": [
    template({ "sidecar.istio.io/proxyCPU": "2", "sidecar.istio.io/proxyCPULimit": "500m" }),
    "IST0125",
    '"sidecar.istio.io/proxyCPU": "2",',
    "which is more than the limit 500m, so that the Pod cannot be created",
  ],
  "volumes that are not JSON": [
    template({ "sidecar.istio.io/userVolume": "[{name: x}]" }),
    "IST0125",
    '"sidecar.istio.io/userVolume": "[{name: x}]"',
    "is not JSON, so that the Pod cannot be created",
  ],
  "a sidecar in the network of the node": [
    template({}, { "sidecar.istio.io/inject": "true" }, { hostNetwork: true }),
    "MESH0018",
    '"sidecar.istio.io/inject": "true"',
    "the Pod has hostNetwork: true",
  ],
  "a misspelled distribution in an annotation": [
    o(
      "Service",
      { selector: { app: "ratings" }, ports: [{ name: "http", port: 80 }] },
      { annotations: { "networking.istio.io/traffic-distribution": "PreferClos" } },
    ),
    "IST0125",
    '"networking.istio.io/traffic-distribution": "PreferClos"',
    "which is ignored, expected PreferClose, PreferSameZone or PreferSameNode",
  ],
  "an unknown distribution": [
    o("Service", {
      selector: { app: "ratings" },
      ports: [{ name: "http", port: 80 }],
      trafficDistribution: "PreferNear",
    }),
    "MESH0042",
    '"trafficDistribution": "PreferNear"',
    "which proxies ignore, expected PreferClose, PreferSameZone, PreferSameNode",
  ],
  "credentials for every origin of a route": [
    filter("CORS", { cors: { allowOrigins: ["*"], allowCredentials: true } }),
    "MESH0050",
    '"allowOrigins": [',
    "allows every website to act with the credentials of its visitors",
  ],
  "a mirror of no request": [
    filter("RequestMirror", { requestMirror: { backendRef: { name: "reviews", port: 9080 }, percent: 0 } }),
    "MESH0042",
    '"percent": 0',
    "is 0, so that no request is mirrored",
  ],
  "a pattern that looks for a part of a path": [
    route({ matches: [{ path: { type: "RegularExpression", value: "^/api" } }] }),
    "MESH0014",
    '"value": "^/api"',
    'which only matches a whole path, not a part of it, expected "^/api.*"',
  ],
  "a TCPRoute for a port with HTTP": [
    o("TCPRoute", { ...toService("ratings", 9080), rules: [backends()] }),
    "MESH0065",
    "{",
    "parent Service ratings: has no effect, because sidecars treat its port 9080 as HTTP; write an HTTPRoute",
  ],
  "a TLSRoute for a port with HTTP": [
    o("TLSRoute", { ...toService("ratings", 9080), hostnames: ["a.example"], rules: [backends()] }),
    "MESH0065",
    "{",
    "parent Service ratings: has no effect, because sidecars treat its port 9080 as HTTP; write an HTTPRoute",
  ],
  "a GRPCRoute for a port with TCP": [
    o("GRPCRoute", { ...toService("db", 3306), rules: [backends("db", 3306)] }),
    "MESH0065",
    "{",
    "parent Service db: has no effect, because sidecars treat its port 3306 as TCP; correct",
  ],
  "a target of a policy in another namespace": [
    backendTls.replace('"name": "ratings"', '"name": "ratings", "namespace": "other"'),
    "MESH0003",
    '"name": "ratings", "namespace": "other"',
    "targetRefs[0].namespace: is unknown and has no effect",
  ],
  "a BackendTLSPolicy where a DestinationRule sets TLS": [
    backendTls + policy({ tls: { mode: "DISABLE" } }),
    "MESH0065",
    "{",
    "ratings: the policy does not apply to connections to it: DestinationRule shop/a sets trafficPolicy.tls, and takes precedence",
  ],
  "a BackendTLSPolicy where a DestinationRule sets TLS for a port": [
    backendTls + policy({ portLevelSettings: [{ port: { number: 9080 }, tls: { mode: "DISABLE" } }] }),
    "MESH0065",
    "{",
    "DestinationRule shop/a sets tls for port 9080, and takes precedence",
  ],
  "a BackendTLSPolicy where a DestinationRule has settings of a port, which inherit none": [
    backendTls + policy({ portLevelSettings: [{ port: { number: 9080 }, loadBalancer: { simple: "RANDOM" } }] }),
    "MESH0065",
    "{",
    "DestinationRule shop/a has settings without tls for port 9080, and takes precedence",
  ],
  "a BackendTLSPolicy for a port whose TLS a DestinationRule sets": [
    twoPorts + tlsOfPort + twoPortPolicy({ portLevelSettings: [{ port: { number: 443 }, tls: { mode: "DISABLE" } }] }),
    "MESH0065",
    "{",
    "port https of two: the policy does not apply to connections to it: DestinationRule shop/two sets tls for port 443",
  ],
  "a BackendTLSPolicy where selected workloads have a DestinationRule that sets TLS": [
    backendTls +
      o("DestinationRule", {
        host: "ratings",
        workloadSelector: { matchLabels: { app: "reviews" } },
        trafficPolicy: { tls: { mode: "DISABLE" } },
      }),
    "MESH0065",
    "{",
    "does not apply to connections of workloads with app=reviews in namespace shop: DestinationRule shop/a sets trafficPolicy.tls",
  ],
  "a BackendTLSPolicy where clients have a DestinationRule of their own namespace": [
    namespace("other") +
      backendTls +
      o("DestinationRule", { host: "*.shop.svc.cluster.local" }, { namespace: "other" }),
    "MESH0065",
    "{",
    "does not apply to connections of clients in namespace other: DestinationRule other/a replaces the policy",
  ],
  "a remote cluster without a kubeconfig": [
    remote({ west: "hello" }),
    "MESH0076",
    `"west": "${base64("hello")}"`,
    'cluster "west" is not read: its kubeconfig is not a mapping',
  ],
  "a kubeconfig that runs a program": [
    remote({ west: kubeconfig({ exec: { command: "aws" } }) }),
    "MESH0076",
    `"west": "${base64(kubeconfig({ exec: { command: "aws" } }))}"`,
    'users["u"].user.exec: is not allowed',
  ],
  "a kubeconfig with the path of a certificate": [
    remote({ west: kubeconfig({ "client-certificate": "/a.pem" }) }),
    "MESH0076",
    `"west": "${base64(kubeconfig({ "client-certificate": "/a.pem" }))}"`,
    'users["u"].user.client-certificate: is not allowed',
  ],
  "a remote cluster with the own ID": [
    remote({ Kubernetes: kubeconfig() }),
    "MESH0076",
    `"Kubernetes": "${base64(kubeconfig())}"`,
    "it is the ID of the cluster that istiod runs in (CLUSTER_ID)",
  ],
  "a remote cluster in two Secrets": [
    remote({ west: kubeconfig() }) + remote({ west: kubeconfig() }, { name: "b" }),
    "MESH0076",
    `"west": "${base64(kubeconfig())}"`,
    "Secret istio-system/a describes the same cluster, and comes first",
  ],
  "a remote cluster in another namespace": [
    remote({ west: kubeconfig() }, { namespace: "shop" }),
    "MESH0076",
    '"istio/multiCluster": "true"',
    "is not read in namespace shop: istiod reads Secrets of remote clusters in namespace istio-system",
  ],
  "a label of remote clusters with another value": [
    remote({ west: kubeconfig() }, { labels: { "istio/multiCluster": "yes" } }),
    "MESH0076",
    '"istio/multiCluster": "yes"',
    'so that istiod does not read the Secret, expected "true"',
  ],
  "a Secret of remote clusters without data": [
    remote({}),
    "MESH0076",
    '"istio/multiCluster": "true"',
    "has no effect: the Secret has no data",
  ],
};

const analyze = (added: string): readonly Message[] => analyzeAdded(mesh, added);

describeMistakes(mesh, mistakes);

describe("what looks alike is right", () => {
  it.each(
    Object.entries({
      "fewer gateway errors than errors": policy({
        outlierDetection: { consecutive5xxErrors: 5, consecutiveGatewayErrors: 3 },
      }),
      "warmup of the default load balancer": policy({ loadBalancer: { warmup: { duration: "30s" } } }),
      "a policy of the whole mesh": o(
        "PeerAuthentication",
        { mtls: { mode: "STRICT" } },
        { name: "default", namespace: "istio-system" },
      ),
      "a listener for a port that a service has": o("Sidecar", {
        egress: [{ port: { number: 9080, name: "x", protocol: "HTTP" }, hosts: ["./*"] }, { hosts: ["./*"] }],
      }),
      "a policy with settings of other kinds in a DestinationRule":
        backendTls + policy({ outlierDetection: { consecutive5xxErrors: 3 } }),
      "a policy where a DestinationRule of a wildcard sets TLS":
        backendTls +
        o("DestinationRule", {
          host: "*.shop.svc.cluster.local",
          trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" } },
        }),
      "a policy where a DestinationRule of the whole mesh sets TLS":
        backendTls +
        o(
          "DestinationRule",
          { host: "*.local", trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" } } },
          { namespace: "istio-system" },
        ),
      "a policy for a port where a DestinationRule sets TLS for all ports":
        twoPorts + tlsOfPort + twoPortPolicy({ tls: { mode: "DISABLE" } }),
      "a policy for a port where a DestinationRule sets TLS for another one":
        twoPorts +
        tlsOfPort +
        twoPortPolicy({ portLevelSettings: [{ port: { number: 80 }, tls: { mode: "DISABLE" } }] }),
      "a mirror and a pattern": route({
        matches: [{ path: { type: "RegularExpression", value: "/api/.*" } }],
        filters: [{ type: "RequestMirror", requestMirror: { backendRef: { name: "reviews", port: 9080 } } }],
      }),
      "resources below their limits": template({
        "sidecar.istio.io/proxyCPU": "100m",
        "sidecar.istio.io/proxyCPULimit": "2",
        "sidecar.istio.io/proxyMemory": "128Mi",
        "sidecar.istio.io/proxyMemoryLimit": "1Gi",
      }),
      "a Pod without a sidecar in the network of the node": template({}, {}, { hostNetwork: true }),
      "a remote cluster": remote({ west: kubeconfig() }),
      "a Secret that is no longer for a remote cluster": remote(
        { west: kubeconfig() },
        { labels: { "istio/multiCluster": "false" } },
      ),
    }),
  )("%s", (_, text) => expect(analyze(text)).toEqual([]));
});

test.each([
  ["rootNamespace: istio-sytem", "MESH0004", 'namespace "istio-sytem" does not exist; did you mean "istio-system"?'],
  ["defaultServiceExportTo: [shpo]", "MESH0004", 'namespace "shpo" does not exist; did you mean "shop"?'],
  [
    'serviceSettings: [{settings: {clusterLocal: true}, hosts: ["revews.shop.svc.cluster.local"]}]',
    "MESH0005",
    'host "revews.shop.svc.cluster.local" matches no service; did you mean "reviews.shop.svc.cluster.local"?',
  ],
  ["discoverySelectors: [{matchLabels: {team: nobody}}]", "MESH0010", "select no namespace"],
  ["defaultHttpRetryPolicy: {attempts: 2, retryOn: 5xxx}", "IST0133", 'has "5xxx", which proxies ignore'],
  ["tlsDefaults: {cipherSuites: [AES]}", "IST0133", 'is "AES", which is ignored'],
  ["trustDomain: My.Domain", "IST0133", 'expected "my.domain"'],
  [
    'accessLogFile: /dev/stdout\naccessLogEncoding: JSON\naccessLogFormat: "%RESPONSE_CODE%"',
    "IST0133",
    "has no effect: it is not a JSON object, which the encoding JSON needs",
  ],
])("a mistake of the mesh configuration is found: %s", (text, code, says) => {
  const { messages } = analyzeTexts({
    files: [{ file: "mesh.yaml", text: mesh }],
    meshConfig: { file: "mesh-config.yaml", text },
  });
  expect(messages.map(({ code: of, message }) => ({ code: of, message }))).toContainEqual({
    code,
    message: expect.stringContaining(says) as string,
  });
});

describe("Secrets of remote clusters", () => {
  const found = (
    texts: readonly (readonly [cluster: string, text: string])[],
    options: Partial<TextsToAnalyze> = {},
  ): readonly string[] =>
    analyzeTexts({
      files: [
        { file: "mesh.yaml", text: mesh + namespace("istio-config") },
        ...texts.map(([cluster, text], at) => ({ file: `new${at}.yaml`, text, ...(cluster !== "" && { cluster }) })),
      ],
      ...options,
    })
      .messages.filter(({ code }) => code === "MESH0076")
      .map(({ origin, message }) => `${origin}: ${message}`);
  const west = (namespace: string, name = "a", text = kubeconfig()): readonly [string, string] => [
    "",
    remote({ west: text }, { namespace, name }),
  ];
  const notRead = (namespace: string, read: string): string =>
    `Secret ${namespace}/a: is not read in namespace ${namespace}: istiod reads Secrets of remote clusters in namespace ${read}`;

  it("are read in istiod's namespace, not in the root namespace", () => {
    const meshConfig = { file: "mesh-config.yaml", text: "rootNamespace: istio-config" };
    expect(found([west("istio-system")], { meshConfig })).toEqual([]);
    expect(found([west("istio-config")], { meshConfig })).toEqual([notRead("istio-config", "istio-system")]);
    const environment = { POD_NAMESPACE: "istio-config" };
    expect(found([west("istio-config")], { environment })).toEqual([]);
    expect(found([west("istio-system")], { environment })).toEqual([notRead("istio-system", "istio-config")]);
  });

  it("are read in the namespace of --clusterRegistriesNamespace", () => {
    const environment = { POD_NAMESPACE: "istio-system", CLUSTER_REGISTRIES_NAMESPACE: "shop" };
    expect(found([west("shop")], { environment })).toEqual([]);
    expect(found([west("istio-system")], { environment })).toEqual([notRead("istio-system", "shop")]);
  });

  it("of another cluster are not among them", () => {
    const [, other] = west("istio-system");
    expect(found([["east", other], west("istio-system", "b")])).toEqual([]);
  });

  it("are not judged where the kubeconfigs of remote clusters are in a directory, or there is no cluster", () => {
    const running = { cluster: true, injects: true, registers: true, hasKubeconfigDirectory: false };
    const foundIn = (parts: Partial<RunningParts>): readonly string[] => {
      const text = remote({ west: "hello" }) + remote({ west: kubeconfig() }, { name: "b", namespace: "shop" });
      const database = new Database<Proxy>();
      database.commit((tx) => {
        writeAbsentReaders(tx, absentReadersOf({ ...running, ...parts }));
        applyChanges(
          tx,
          readText(text, "a.yaml").flatMap(({ objects }) => objects),
        );
      });
      return database
        .view(noProxy)
        .call(findings)
        .filter(({ code }) => code === "MESH0076")
        .map(({ origin, path, message }) => `${origin.name} ${path.at(-1)}: ${message}`)
        .sort();
    };
    const both = (why: string): readonly string[] =>
      ["a", "b"].map((name) => `${name} istio/multiCluster: has no effect: ${why}`);
    expect(foundIn({ hasKubeconfigDirectory: true })).toEqual(
      both(
        "kubeconfigs of remote clusters are read from the directory of PILOT_MULTICLUSTER_KUBECONFIG_PATH, not from Secrets",
      ),
    );
    expect(foundIn({ cluster: false })).toEqual(
      both("Secrets of remote clusters are read only by an istiod that is connected to a cluster"),
    );
    expect(foundIn({})).toEqual([
      'a west: cluster "west" is not read: its kubeconfig is not a mapping',
      "b istio/multiCluster: is not read in namespace shop: istiod reads Secrets of remote clusters in namespace istio-system",
    ]);
  });

  it("of a directory are said not to be read, and are not judged, where those of the API server are read", () => {
    const database = new Database<Proxy>();
    const read = (text: string, kinds: readonly Kind[]) =>
      readText(text, "a.yaml", { kinds }).flatMap(({ objects }) => objects);
    database.commit((tx) => {
      const running = { cluster: true, injects: true, registers: true, hasKubeconfigDirectory: false };
      writeAbsentReaders(tx, absentReadersOf(running));
      // The first Secret would come first, and would offer the same cluster.
      applyChanges(tx, read(remote({ west: kubeconfig() }, { name: "a" }), [directorySecretKind]));
      applyChanges(tx, read(remote({ west: kubeconfig(), east: "hello" }, { name: "b" }), [secretKind]));
    });
    const messages = database.view(noProxy).call(findings);
    expect(
      messages.filter(({ code }) => code === "MESH0076").map(({ origin, message }) => `${origin.name}: ${message}`),
    ).toEqual([
      "a: has no effect: Secrets of remote clusters are read only from the API server, not from a directory",
      'b: cluster "east" is not read: its kubeconfig is not a mapping',
    ]);
  });

  it("come first only with a kubeconfig that is accepted", () => {
    expect(found([west("istio-system", "a", "hello"), west("istio-system", "b")])).toEqual([
      'Secret istio-system/a: cluster "west" is not read: its kubeconfig is not a mapping',
    ]);
  });
});
