import { environmentOf, objectsOf, type Scenario } from "./scenario.js";

/** Groups of scenarios about features that are not implemented yet. */
const groupsApart = new Set(["envoyfilter", "gateway-api", "proxyconfig", "security", "telemetry"]);

/** Kinds that are not implemented yet, by feature. */
const kindsApart: Readonly<Record<string, string>> = {
  Gateway: "Gateway API",
  GatewayClass: "Gateway API",
  HTTPRoute: "Gateway API",
  GRPCRoute: "Gateway API",
  TCPRoute: "Gateway API",
  TLSRoute: "Gateway API",
  EnvoyFilter: "EnvoyFilter",
  WasmPlugin: "Wasm",
  TrafficExtension: "Wasm",
  Telemetry: "Telemetry",
  ProxyConfig: "ProxyConfig",
  AuthorizationPolicy: "policies",
  RequestAuthentication: "policies",
};

/**
 * Returns the unsupported feature that a recorded scenario needs; undefined if it needs none and must match. Ambient
 * mode that is merely enabled does not count: sidecars are configured in the same way.
 */
export function laterWork(s: Scenario): string | undefined {
  const [group = ""] = s.name.split("/");
  const types = s.proxies.map(({ node }) => String(node["id"]).split("~")[0]);
  const hasAmbientProxies = types.some((type) => type === "waypoint" || type === "ztunnel");
  if (group === "ambient") return hasAmbientProxies ? group : undefined;
  if (s.base.endsWith("/shop")) return groupsApart.has(group) ? group : undefined;
  if (hasAmbientProxies || environmentOf(s)["AMBIENT_ENABLE_MULTI_NETWORK"] === "true") return "ambient";
  for (const { kind, apiVersion } of objectsOf(s)) {
    const later = kindsApart[String(kind)];
    if (later !== undefined && !(kind === "Gateway" && !String(apiVersion).startsWith("gateway."))) return later;
  }
  return undefined;
}
