import { NAMESPACE, object, type Verdict, type VerdictCase } from "./case.js";

const gatewayApi = (kind: string, spec: object): VerdictCase["object"] =>
  object("gateway.networking.k8s.io/v1", kind, spec);

const verdictOf =
  (verdict: Verdict) =>
  (name: string, applied: VerdictCase["object"], words: string): VerdictCase => ({
    name,
    object: applied,
    verdict,
    words,
  });
const live = verdictOf("live");
const ineffective = verdictOf("ineffective");

const toService = (name: string): object => ({ parentRefs: [{ group: "", kind: "Service", name, port: 9080 }] });
const backend = (name: string): object => ({ backendRefs: [{ name, port: 9080 }] });
const certificate = { certificateRefs: [{ name: "nobody" }] };
const gateway = (listener: object, gatewayClassName = "istio"): VerdictCase["object"] =>
  gatewayApi("Gateway", { gatewayClassName, listeners: [{ name: "a", port: 80, protocol: "HTTP", ...listener }] });
const backendTls = (validation: object): VerdictCase["object"] =>
  gatewayApi("BackendTLSPolicy", {
    targetRefs: [{ group: "", kind: "Service", name: "details" }],
    validation: { hostname: "details.example.com", ...validation },
  });

/** Good and bad objects of the Gateway API. */
export const gatewayApiObjects: readonly VerdictCase[] = [
  live(
    "a route for a service",
    gatewayApi("HTTPRoute", { ...toService("details"), rules: [backend("details")] }),
    "live on ",
  ),
  live(
    "a gRPC route for a service",
    gatewayApi("GRPCRoute", { ...toService("details"), rules: [backend("details")] }),
    "live on ",
  ),
  live("a Gateway, for which istiod creates a proxy", gateway({}), "live on 1 of 1"),
  live("a certificate of backends", backendTls({ wellKnownCACertificates: "System" }), "live on "),
  ineffective(
    "a route to a backend that does not exist",
    gatewayApi("HTTPRoute", { ...toService("details"), rules: [backend("detials")] }),
    "detials",
  ),
  ineffective(
    "a route of a Gateway that does not exist",
    gatewayApi("HTTPRoute", { parentRefs: [{ name: "nobody" }], rules: [backend("details")] }),
    `there is no Gateway ${NAMESPACE}/nobody`,
  ),
  ineffective(
    "a route of a Service that does not exist",
    gatewayApi("GRPCRoute", { ...toService("detials"), rules: [backend("details")] }),
    "detials",
  ),
  ineffective("a Gateway of an unknown class", gateway({}, "istoi"), "there is no GatewayClass istoi"),
  ineffective(
    "a listener whose certificate does not exist",
    gateway({ port: 443, protocol: "HTTPS", tls: certificate }),
    "InvalidCertificateRef",
  ),
  ineffective(
    "roots of backends that do not exist",
    backendTls({ caCertificateRefs: [{ group: "", kind: "ConfigMap", name: "nobody" }] }),
    "nobody",
  ),
];
