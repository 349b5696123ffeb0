import { environmentOf, type Scenario } from "./scenario.js";

/**
 * Returns the unsupported feature that a recorded scenario needs; undefined if it needs none and must match. Ambient
 * mode that is merely enabled does not count: sidecars are configured in the same way.
 */
export function unsupportedFeature(s: Scenario): string | undefined {
  const [group = ""] = s.name.split("/");
  const types = s.proxies.map(({ node }) => String(node["id"]).split("~")[0]);
  const hasAmbientProxies = types.some((type) => type === "waypoint" || type === "ztunnel");
  if (group === "ambient") return hasAmbientProxies ? group : undefined;
  if (s.base.endsWith("/shop")) return undefined;
  if (hasAmbientProxies || environmentOf(s)["AMBIENT_ENABLE_MULTI_NETWORK"] === "true") return "ambient";
  return undefined;
}
