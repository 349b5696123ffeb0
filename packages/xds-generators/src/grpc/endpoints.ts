import { fromBinary } from "@bufbuild/protobuf";
import { LocalityLbEndpointsSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint_components";
import { query } from "@istiod/incremental";
import { type Resource, resource } from "@istiod/resources";
import { encodeLoadAssignment, type EncodedMember } from "../endpoints/encode-assignment.js";
import { compactPriorities, type LocalityGroup } from "../endpoints/locality/locality-group.js";
import { assignedGroups } from "../endpoints/load-assignment.js";
import { parseClusterName } from "../resource-names.js";
import { hostPort } from "../routes/domains.js";
import { isBeyondBounds } from "./served-clusters.js";

/**
 * The load assignment of a cluster by name, as gRPC accepts it: addresses occur once, and groups have endpoints, a
 * weight, and priorities without gaps. Gateways to other networks are left out: they accept only Istio's mutual TLS
 * with an SNI that clients cannot set. A cluster beyond the bounds of its service has no endpoints, since requests
 * to them would lack the policy.
 */
export const grpcLoadAssignment = query("grpcLoadAssignment", (q, name: string): Resource => {
  const seen = new Set<string>();
  const isUsable = (member: EncodedMember): boolean => {
    const address = member.gateway === undefined ? socketAddressOf(member) : undefined;
    if (address === undefined || seen.has(address)) return false;
    seen.add(address);
    return true;
  };
  const parsed = parseClusterName(name);
  const isLeftOut = parsed !== undefined && isBeyondBounds(q, parsed);
  const groups = (isLeftOut ? [] : [...assignedGroups(q, name)])
    .sort((a, b) => a.priority - b.priority)
    .map((group): LocalityGroup<EncodedMember> => ({ ...group, members: group.members.filter(isUsable) }))
    .filter(({ members, weight = 0 }) => members.length > 0 && weight > 0);
  return resource(name, encodeLoadAssignment(name, compactPriorities(groups)));
});

/** Returns the address of an endpoint as text; undefined if it is no IP address with a port. */
function socketAddressOf({ bytes }: EncodedMember): string | undefined {
  const [lbEndpoint] = fromBinary(LocalityLbEndpointsSchema, bytes).lbEndpoints;
  const host = lbEndpoint?.hostIdentifier;
  const at = host?.case === "endpoint" ? host.value.address?.address : undefined;
  if (at?.case !== "socketAddress" || at.value.portSpecifier.case !== "portValue") return undefined;
  return hostPort(at.value.address, at.value.portSpecifier.value);
}
