import { networking, object, security, type Verdict, type VerdictCase } from "./case.js";

const bad =
  (verdict: Verdict) =>
  (name: string, applied: VerdictCase["object"], words: string): VerdictCase => ({
    name,
    object: applied,
    verdict,
    words,
  });
const denied = bad("denied");
const ineffective = bad("ineffective");

const nobody = { selector: { matchLabels: { app: "nobody" } } };

/** Objects that the webhook must deny. */
export const deniedObjects: readonly VerdictCase[] = [
  denied(
    "a pattern that is not RE2",
    networking("VirtualService", {
      hosts: ["details"],
      http: [{ match: [{ uri: { regex: "(" } }], route: [{ destination: { host: "details" } }] }],
    }),
    "is not an RE2 pattern",
  ),
  denied(
    "two subsets of one name",
    networking("DestinationRule", {
      host: "details",
      subsets: [
        { name: "v1", labels: { version: "v1" } },
        { name: "v1", labels: { version: "v2" } },
      ],
    }),
    "subsets[1]",
  ),
  denied(
    "a port of an unknown protocol",
    networking("Gateway", {
      selector: { istio: "ingressgateway" },
      servers: [{ port: { number: 80, name: "x", protocol: "HTPP" }, hosts: ["*"] }],
    }),
    "protocol",
  ),
  denied(
    "an endpoint without an address",
    networking("ServiceEntry", {
      hosts: ["api.example.com"],
      resolution: "STATIC",
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      endpoints: [{ address: "not an address" }],
    }),
    "endpoints[0].address",
  ),
  denied(
    "a host without a namespace",
    networking("Sidecar", { egress: [{ hosts: ["details"] }] }),
    "expected namespace/host",
  ),
  denied(
    "a custom action without a provider",
    security("AuthorizationPolicy", { action: "CUSTOM", rules: [{}] }),
    "provider",
  ),
];

/** Objects that are accepted, but have no effect or an error. */
export const ineffectiveObjects: readonly VerdictCase[] = [
  ineffective(
    "a route to an unknown host",
    networking("VirtualService", { hosts: ["details"], http: [{ route: [{ destination: { host: "detials" } }] }] }),
    "detials",
  ),
  ineffective(
    "a route to an unknown subset",
    networking("VirtualService", {
      hosts: ["reviews"],
      http: [{ route: [{ destination: { host: "reviews", subset: "v9" } }] }],
    }),
    "v9",
  ),
  ineffective(
    "a rule for an unknown host",
    networking("DestinationRule", { host: "detials", trafficPolicy: { loadBalancer: { simple: "RANDOM" } } }),
    "detials",
  ),
  ineffective(
    "a Gateway for no Pod",
    networking("Gateway", {
      selector: { istio: "nobody" },
      servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["shop.example.com"] }],
    }),
    "istio=nobody",
  ),
  ineffective(
    "a Sidecar for no Pod",
    networking("Sidecar", { workloadSelector: { labels: { app: "nobody" } }, egress: [{ hosts: ["./*"] }] }),
    "app=nobody",
  ),
  ineffective("a policy for no Pod", security("AuthorizationPolicy", { ...nobody, rules: [{}] }), "reaches none of"),
  ineffective(
    "mutual TLS for no Pod",
    security("PeerAuthentication", { ...nobody, mtls: { mode: "STRICT" } }),
    "reaches none of",
  ),
  ineffective(
    "access logs of an unknown provider",
    object("telemetry.istio.io/v1", "Telemetry", { accessLogging: [{ providers: [{ name: "nobody" }] }] }),
    "nobody",
  ),
  ineffective(
    "a WorkloadEntry that no Service selects",
    networking("WorkloadEntry", { address: "192.0.2.2", labels: { app: "nobody" } }),
    "reaches none of",
  ),
  ineffective(
    "a patch of a cluster that nobody has",
    object("networking.istio.io/v1alpha3", "EnvoyFilter", {
      configPatches: [
        {
          applyTo: "CLUSTER",
          match: { context: "SIDECAR_OUTBOUND", cluster: { service: "nobody.example.com" } },
          patch: { operation: "MERGE", value: { connect_timeout: "3s" } },
        },
      ],
    }),
    "reaches none of",
  ),
  ineffective(
    "a plugin for no Pod",
    object("extensions.istio.io/v1alpha1", "WasmPlugin", { ...nobody, url: "oci://registry.example.com/filter:1" }),
    "reaches none of",
  ),
  ineffective(
    "access logs disabled for no provider, so that those of accessLogFile remain",
    object("telemetry.istio.io/v1", "Telemetry", { accessLogging: [{ disabled: true }] }),
    "reaches none of",
  ),
  ineffective(
    "an Ingress of a class that does not exist",
    object("networking.k8s.io/v1", "Ingress", {
      ingressClassName: "istio",
      defaultBackend: { service: { name: "details", port: { number: 9080 } } },
    }),
    "there is no IngressClass istio",
  ),
];
