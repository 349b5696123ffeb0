import {
  ClientTLSSettings_TLSmode as TlsMode,
  type TrafficPolicy,
  type TrafficPolicy_TunnelSettings as TunnelSettings,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { checkPort } from "../../../validation/network/addresses.js";
import { checkClientTls } from "../../../validation/traffic/client-tls.js";
import { checkConnectionPool } from "../../../validation/traffic/connection-pool.js";
import { isIpAddress } from "../../../validation/network/ip.js";
import { checkLoadBalancer } from "../../../validation/traffic/load-balancer.js";
import { fqdnFault } from "../../../validation/network/names.js";
import { checkOutlierDetection } from "../../../validation/traffic/outlier-detection.js";
import { checkDurationFits } from "../../../validation/durations.js";
import { checkPercent } from "../../../validation/numbers.js";
import { each, type Place } from "../../../validation/place.js";
import { atMost, range, required, type Shape } from "../../../validation/shape.js";

/** Returns the shape of a traffic policy at a path. */
export function trafficPolicyShape(at: string): Shape {
  return {
    [`${at}.tunnel`]: required("targetHost", "targetPort"),
    [`${at}.retryBudget.percent`]: range(0, 100),
    [`${at}.portLevelSettings`]: atMost(4096),
    ...portPolicyShape(at),
    ...portPolicyShape(`${at}.portLevelSettings[]`),
  };
}

/**
 * Validates a traffic policy.
 *
 * @param namespace namespace of the DestinationRule
 */
export function checkTrafficPolicy(policy: TrafficPolicy | undefined, namespace: string, place: Place): void {
  if (policy === undefined) return;
  const { outlierDetection, connectionPool, loadBalancer, tls, tunnel, proxyProtocol, retryBudget, portLevelSettings } =
    policy;
  if (
    portLevelSettings.length === 0 &&
    [outlierDetection, connectionPool, loadBalancer, tls, tunnel, proxyProtocol, retryBudget].every(
      (p) => p === undefined,
    )
  ) {
    place.error("is empty, expected at least one policy");
    return;
  }
  if (tunnel !== undefined && proxyProtocol !== undefined) {
    place.at("proxyProtocol").error("is set together with tunnel, expected only one of them");
    return;
  }
  checkPolicy(policy, namespace, place);
  each(portLevelSettings, place.at("portLevelSettings"), (settings, at) => {
    if (settings.port === undefined) at.at("port").error("is missing, expected a port");
    const empty = [settings.outlierDetection, settings.connectionPool, settings.loadBalancer, settings.tls].every(
      (p) => p === undefined,
    );
    if (empty) at.error("has a port only, expected at least one policy");
    else checkPolicy(settings, namespace, at);
  });
  warnOfPorts(policy, place);
  if (retryBudget?.percent !== undefined) checkPercent(retryBudget.percent, place.at("retryBudget", "percent"));
  checkDurationFits(retryBudget?.budgetInterval, place.at("retryBudget", "budgetInterval"));
  if (tunnel !== undefined) checkTunnel(tunnel, place.at("tunnel"));
}

/** Warns of a port's settings that an earlier entry overrides, or that drop the TLS of the policy. */
function warnOfPorts({ tls, portLevelSettings }: TrafficPolicy, place: Place): void {
  const first = new Map<number, number>();
  for (const [i, settings] of portLevelSettings.entries()) {
    const number = settings.port?.number;
    if (number === undefined) continue;
    const at = place.at("portLevelSettings", i);
    const earlier = first.get(number);
    if (earlier !== undefined)
      at.warning(`have no effect: portLevelSettings[${earlier}] are for port ${number}, too`, "no-effect");
    else if (settings.tls === undefined && (tls?.mode === TlsMode.SIMPLE || tls?.mode === TlsMode.MUTUAL))
      at.warning(
        `have no tls, and inherit nothing of trafficPolicy, so that requests to port ${number} are sent without this TLS, expected also tls`,
        "contradiction",
      );
    first.set(number, earlier ?? i);
  }
}

function checkPolicy(
  policy: Pick<TrafficPolicy, "outlierDetection" | "connectionPool" | "loadBalancer" | "tls">,
  namespace: string,
  place: Place,
): void {
  checkOutlierDetection(policy.outlierDetection, place.at("outlierDetection"));
  checkConnectionPool(policy.connectionPool, place.at("connectionPool"));
  checkLoadBalancer(policy.loadBalancer, policy.outlierDetection !== undefined, place.at("loadBalancer"));
  checkClientTls(policy.tls, namespace, place.at("tls"));
}

function checkTunnel(tunnel: TunnelSettings, place: Place): void {
  if (!["", "CONNECT", "POST"].includes(tunnel.protocol))
    place.at("protocol").error(`is ${JSON.stringify(tunnel.protocol)}, expected CONNECT or POST`);
  if (!isIpAddress(tunnel.targetHost) && fqdnFault(tunnel.targetHost) !== undefined)
    place.at("targetHost").error(`is ${JSON.stringify(tunnel.targetHost)}, expected a domain name or an IP address`);
  checkPort(tunnel.targetPort, place.at("targetPort"));
}

function portPolicyShape(at: string): Shape {
  return {
    [`${at}.loadBalancer.consistentHash.httpCookie`]: required("name"),
    [`${at}.loadBalancer.consistentHash.httpCookie.attributes[]`]: required("name"),
    [`${at}.loadBalancer.warmup`]: required("duration"),
    [`${at}.loadBalancer.warmup.aggression`]: range(0, Number.POSITIVE_INFINITY),
    [`${at}.loadBalancer.warmup.minimumPercent`]: range(0, 100),
    [`${at}.loadBalancer.zoneAwareLbSetting.minClusterSize`]: range(1, Number.POSITIVE_INFINITY),
    [`${at}.outlierDetection.outlierDetectionHttpErrorCodes[]`]: range(100, 599),
  };
}
