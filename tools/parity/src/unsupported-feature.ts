import { environmentOf, objectsOf, type Scenario } from "./scenario.js";

/** Groups of scenarios about features that istiod does not have. */
const unsupportedGroups = new Set(["gateway-api"]);

/** Features that istiod does not have, by kind. */
const unsupportedKinds: Readonly<Record<string, string>> = {
  Gateway: "Gateway API",
  GatewayClass: "Gateway API",
  HTTPRoute: "Gateway API",
  GRPCRoute: "Gateway API",
  TCPRoute: "Gateway API",
  TLSRoute: "Gateway API",
};

/**
 * Returns the unsupported feature that a recorded scenario needs; undefined if it needs none and must match. Ambient
 * mode that is merely enabled does not count: sidecars are configured in the same way.
 */
export function unsupportedFeature(s: Scenario): string | undefined {
  const [group = ""] = s.name.split("/");
  const types = s.proxies.map(({ node }) => String(node["id"]).split("~")[0]);
  const hasAmbientProxies = types.some((type) => type === "waypoint" || type === "ztunnel");
  if (group === "ambient") return hasAmbientProxies ? group : undefined;
  if (s.base.endsWith("/shop")) return unsupportedGroups.has(group) ? group : undefined;
  if (hasAmbientProxies || environmentOf(s)["AMBIENT_ENABLE_MULTI_NETWORK"] === "true") return "ambient";
  for (const { kind, apiVersion } of objectsOf(s)) {
    const feature = unsupportedKinds[String(kind)];
    if (feature !== undefined && !(kind === "Gateway" && !String(apiVersion).startsWith("gateway."))) return feature;
  }
  return undefined;
}
