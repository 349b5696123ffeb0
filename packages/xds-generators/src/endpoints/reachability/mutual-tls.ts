import type { QueryContext } from "@istiod/incremental";
import {
  ClientTLSSettings_TLSmode,
  type DestinationRule,
  type TrafficPolicy,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { modeOfPort, type PeerModes, namespacePeerModes, findSubset } from "@istiod/push-context";
import { type Endpoint, ISTIO_MUTUAL_TLS_MODE, type Labels } from "@istiod/service-discovery";
import type { EndpointTarget } from "../endpoint-target.js";

/**
 * Returns a predicate that tells whether the client uses Istio's mutual TLS to an endpoint: if its DestinationRule says
 * so, or else if the endpoint's proxy accepts it and no PeerAuthentication disables it. Source:
 * pilot/pkg/xds/endpoints/mtls_checker.go.
 */
export function mutualTlsPredicate(
  q: QueryContext,
  target: EndpointTarget,
  rule: DestinationRule | undefined,
): (endpoint: Endpoint) => boolean {
  const declared = tlsModeOfRule(rule, target.subset, target.port.number);
  if (declared !== undefined) return () => declared === ClientTLSSettings_TLSmode.ISTIO_MUTUAL;
  const modesIn = new Map<string, (labels: Labels) => PeerModes>();
  return ({ tlsMode, namespace, labels, port }) => {
    if (tlsMode !== ISTIO_MUTUAL_TLS_MODE) return false;
    const modesOf = modesIn.get(namespace) ?? namespacePeerModes(q, namespace);
    modesIn.set(namespace, modesOf);
    return modeOfPort(modesOf(labels), port) !== "DISABLE";
  };
}

/**
 * Returns the TLS mode that a rule sets for a port of a subset, or else of the service; undefined if it sets none or
 * has no such subset.
 */
function tlsModeOfRule(
  rule: DestinationRule | undefined,
  subset: string,
  port: number,
): ClientTLSSettings_TLSmode | undefined {
  const own = subset === "" ? undefined : findSubset(rule, subset);
  if (subset !== "" && own === undefined) return undefined;
  return tlsModeOfPolicy(own?.trafficPolicy, port) ?? tlsModeOfPolicy(rule?.trafficPolicy, port);
}

function tlsModeOfPolicy(policy: TrafficPolicy | undefined, port: number): ClientTLSSettings_TLSmode | undefined {
  const ofPort = policy?.portLevelSettings.find(
    (settings) => settings.port?.number === port && settings.tls !== undefined,
  );
  return (ofPort?.tls ?? policy?.tls)?.mode;
}
