import fc from "fast-check";

type Json = Record<string, unknown>;

/** A pod, and the configuration that it is injected with. */
export interface Injection {
  readonly pod: Json;
  /** Values over those of the chart, by path. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly mesh: Json;
  readonly revision: string;
  readonly nativeSidecars: boolean;
  readonly compliancePolicy: string;
}

const text = fc.constantFrom("a", "b-1", "0", "x.y", "with space", "über");
const ports = fc.constantFrom("", "*", "80", "80,443", "15020", "0");
const ranges = fc.constantFrom("", "*", "10.0.0.0/8", "10.0.0.0/8,fd00::/8");
const flag = fc.boolean();
const numberText = fc.constantFrom("0", "1", "30");
const level = fc.constantFrom("debug", "default:info,ads:debug", "misc:error");
const image = fc.constantFrom("proxyv2", "registry.example/proxy:1", "other");
const quantity = fc.constantFrom("100m", "2", "1Gi", "");

/** Returns objects with some of the keys. */
const some = (model: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<Json> =>
  fc.record(model, { requiredKeys: [] });

const quantities = some({ cpu: fc.constantFrom("1", 2, null), memory: fc.constantFrom("1Gi", 1073741824, null) });
const traffic = "traffic.sidecar.istio.io/";

const annotations = some({
  "sidecar.istio.io/nativeSidecar": fc.constantFrom("true", "false"),
  "sidecar.istio.io/interceptionMode": fc.constantFrom("REDIRECT", "TPROXY", "NONE"),
  "sidecar.istio.io/capNetBindService": fc.constantFrom("true", "false"),
  "sidecar.istio.io/proxyImage": image,
  "sidecar.istio.io/proxyCPU": quantity,
  "sidecar.istio.io/proxyMemory": quantity,
  "sidecar.istio.io/proxyCPULimit": quantity,
  "sidecar.istio.io/proxyMemoryLimit": quantity,
  "sidecar.istio.io/logLevel": fc.constantFrom("debug", "info"),
  "sidecar.istio.io/componentLogLevel": level,
  "sidecar.istio.io/agentLogLevel": level,
  "sidecar.istio.io/bootstrapOverride": fc.constant("bootstrap"),
  "sidecar.istio.io/userVolume": fc.constant('{"user":{"emptyDir":{}},"other":{"secret":{"secretName":"s"}}}'),
  "sidecar.istio.io/userVolumeMount": fc.constant('{"user":{"mountPath":"/user","readOnly":true}}'),
  "status.sidecar.istio.io/port": fc.constantFrom("15020", "15021", "0"),
  "readiness.status.sidecar.istio.io/initialDelaySeconds": numberText,
  "readiness.status.sidecar.istio.io/periodSeconds": numberText,
  "readiness.status.sidecar.istio.io/failureThreshold": numberText,
  [`${traffic}includeOutboundIPRanges`]: ranges,
  [`${traffic}excludeOutboundIPRanges`]: fc.constantFrom("", "10.1.0.0/16"),
  [`${traffic}includeInboundPorts`]: ports,
  [`${traffic}excludeInboundPorts`]: fc.constantFrom("", "80", "80, 15020"),
  [`${traffic}includeOutboundPorts`]: ports,
  [`${traffic}excludeOutboundPorts`]: fc.constantFrom("", "80"),
  [`${traffic}kubevirtInterfaces`]: fc.constantFrom("net0", "net0,net1"),
  [`${traffic}excludeInterfaces`]: fc.constantFrom("", "eth1"),
  "istio.io/reroute-virtual-interfaces": fc.constantFrom("net2", ""),
  "kubectl.kubernetes.io/default-container": text,
  "kubectl.kubernetes.io/default-logs-container": text,
  "k8s.v1.cni.cncf.io/networks": fc.constantFrom("net", '[{"name":"net"}]'),
  "apm.datadoghq.com/env": fc.constant('{"DD_SERVICE":"shop","DD_VERSION":"1"}'),
  "prometheus.io/scrape": fc.constant("true"),
});

const labels = some({
  app: text,
  version: text,
  "app.kubernetes.io/name": text,
  "app.kubernetes.io/version": text,
  "service.istio.io/canonical-name": fc.constantFrom("shop", `-${"x".repeat(70)}`),
  "service.istio.io/canonical-revision": text,
  "service.istio.io/workload-name": text,
  "security.istio.io/tlsMode": fc.constant("disabled"),
  "networking.istio.io/tunnel": fc.constant("none"),
});

const port = fc.record(
  {
    containerPort: fc.integer({ min: 1, max: 9000 }),
    name: fc.constantFrom("http", "grpc"),
    protocol: fc.constant("UDP"),
  },
  { requiredKeys: ["containerPort"] },
);
const container = (name: string): fc.Arbitrary<Json> =>
  fc
    .record(
      {
        ports: fc.uniqueArray(port, { maxLength: 2, selector: (p) => p.containerPort }),
        args: fc.array(text, { maxLength: 2 }),
      },
      { requiredKeys: [] },
    )
    .map((rest) => ({ name, image: name === "istio-proxy" ? "auto" : "app", ...rest }));
const containers = fc
  .subarray(["app", "second", "istio-proxy"], { minLength: 1 })
  .chain((names) => fc.tuple(...names.map(container)));

const owner = { apiVersion: "batch/v1", kind: "Job", name: "nightly", uid: "1", controller: true };
const pod = fc
  .record({
    metadata: fc.record(
      {
        name: text,
        namespace: fc.constantFrom("shop", "default"),
        labels,
        annotations,
        ownerReferences: fc.constantFrom([], [owner]),
      },
      { requiredKeys: ["namespace"] },
    ),
    spec: fc.record(
      { containers, serviceAccountName: text, initContainers: fc.tuple(container("before")) },
      { requiredKeys: ["containers"] },
    ),
  })
  .map((fields): Json => ({ apiVersion: "v1", kind: "Pod", ...fields }));

const values = some({
  revision: fc.constantFrom("", "canary"),
  "cni.enabled": flag,
  "cni.provider": fc.constantFrom("default", "multus"),
  "env.ENABLE_CLUSTER_TRUST_BUNDLE_API": flag,
  "gateways.securityContext": fc.constantFrom({}, { runAsNonRoot: true, fsGroup: 5 }),
  "gateways.seccompProfile": fc.constantFrom({}, { type: "RuntimeDefault" }),
  "global.platform": fc.constant("openshift"),
  "global.network": text,
  "global.meshID": text,
  "global.trustDomain": fc.constant("other.example"),
  "global.logAsJson": flag,
  "global.logging.level": level,
  "global.sts.servicePort": fc.constantFrom(0, 15463),
  "global.sds.token.aud": fc.constantFrom("istio-ca", "other"),
  "global.caAddress": fc.constant("ca.example:15012"),
  "global.caName": fc.constant("GkeWorkloadCertificate"),
  "global.pilotCertProvider": fc.constantFrom("istiod", "custom", "none"),
  "global.mountMtlsCerts": flag,
  "global.trustBundleName": fc.constant("roots"),
  "global.multiCluster.clusterName": text,
  "global.imagePullPolicy": fc.constantFrom("", "Always"),
  "global.imagePullSecrets": fc.constantFrom([], ["one", "two"]),
  "global.nativeNftables": flag,
  "global.proxy.image": image,
  "global.proxy.privileged": flag,
  "global.proxy.clusterDomain": fc.constant("cluster.example"),
  "global.proxy.logLevel": fc.constant("info"),
  "global.proxy.componentLogLevel": level,
  "global.proxy.outlierLogPath": fc.constantFrom("", "/dev/stdout"),
  "global.proxy.tracer": fc.constantFrom("none", "datadog", "lightstep"),
  "global.proxy.statusPort": fc.constantFrom(0, 15020, 15099),
  "global.proxy.holdApplicationUntilProxyStarts": flag,
  "global.proxy.capNetBindService": flag,
  "global.proxy.seccompProfile": fc.constantFrom({}, { type: "Localhost", localhostProfile: "p.json" }),
  "global.proxy.lifecycle": fc.constant({ preStop: { exec: { command: ["sleep", "5"] } } }),
  "global.proxy.resources": some({ requests: quantities, limits: quantities }),
  "global.proxy.includeIPRanges": ranges,
  "global.proxy.excludeIPRanges": fc.constantFrom("", "10.1.0.0/16"),
  "global.proxy.includeInboundPorts": ports,
  "global.proxy.excludeInboundPorts": fc.constantFrom("", "22"),
  "global.proxy.includeOutboundPorts": ports,
  "global.proxy.excludeOutboundPorts": fc.constantFrom("", "22"),
  "global.proxy.startupProbe.enabled": flag,
  "global.proxy.startupProbe.failureThreshold": fc.nat(100),
  "global.proxy.readinessInitialDelaySeconds": fc.nat(9),
  "global.proxy.readinessPeriodSeconds": fc.nat(9),
  "global.proxy.readinessFailureThreshold": fc.nat(9),
  "global.proxy_init.image": image,
  "global.proxy_init.forceApplyIptables": flag,
  "global.waypoint.affinity": fc.constant({ nodeAffinity: {} }),
  "global.waypoint.topologySpreadConstraints": fc.constant([{ maxSkew: 1, topologyKey: "zone" }]),
  "global.waypoint.nodeSelector": fc.constant({ disk: "fast" }),
  "global.waypoint.tolerations": fc.constant([{ key: "k", operator: "Exists" }]),
  "global.waypoint.resources": some({ requests: quantities, limits: quantities }),
});

const mesh = some({
  trustDomain: fc.constantFrom("cluster.local", "mesh.example"),
  proxyListenPort: fc.constant(15101),
  proxyInboundListenPort: fc.constant(15106),
  inboundTrafficPolicy: fc.constantFrom({ mode: "LOCALHOST" }, { mode: "PASSTHROUGH" }),
  defaultConfig: some({
    interceptionMode: fc.constantFrom("REDIRECT", "TPROXY", "NONE"),
    holdApplicationUntilProxyStarts: flag,
    drainDuration: fc.constantFrom("45s", "1s"),
    proxyMetadata: some({
      ISTIO_META_ENABLE_HBONE: fc.constantFrom("true", "false"),
      IPTABLES_TRACE_LOGGING: fc.constantFrom("true", "false"),
      OTHER: fc.constantFrom("", "1", "words of text"),
    }),
    tracing: fc.constant({
      lightstep: { address: "tracer:80", accessToken: "token" },
      tlsSettings: { mode: "SIMPLE", caCertificates: "/etc/lightstep/cacert.pem" },
    }),
  }),
});

/** Pods and configurations of all that templates of injection read. */
export const arbitraryInjection: fc.Arbitrary<Injection> = fc.record({
  pod,
  values,
  mesh,
  revision: fc.constantFrom("", "canary"),
  nativeSidecars: flag,
  compliancePolicy: fc.constantFrom("", "fips-140-2", "fips-140-3"),
});

/** Returns values with others at their paths, such as `global.proxy.image`. */
export function valuesWith(base: Json, changes: Readonly<Record<string, unknown>>): Json {
  const result = structuredClone(base);
  for (const [path, value] of Object.entries(changes)) {
    const names = path.split(".");
    const last = names.pop() ?? "";
    const parent = names.reduce<Json>((object, name) => (object[name] ??= {}) as Json, result);
    parent[last] = value;
  }
  return result;
}
