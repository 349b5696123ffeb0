import { toBinary } from "@bufbuild/protobuf";
import { LbEndpointSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint_components";
import { resource, type Resource } from "@istiod/resources";
import { splitLocality } from "@istiod/service-discovery";
import { encodedField, encodedNumber, encodedText, joinEncoded } from "../envoy/encode.js";
import { type LocalityGroup, type Weighted, weighted } from "./locality-group.js";

/**
 * An endpoint encoded as an element of its locality. Clients differ in which localities they prefer, and hardly in what their endpoints are:
 * these are encoded once, and each class of clients puts them together in its own order.
 */
export interface EncodedMember extends Weighted {
  readonly bytes: Uint8Array;
}

/** Fields of ClusterLoadAssignment, of LocalityLbEndpoints, of Locality and of UInt32Value. */
const assignment = { clusterName: 1, endpoints: 2 } as const;
const localityEndpoints = { locality: 1, lbEndpoints: 2, loadBalancingWeight: 3, priority: 5 } as const;
const localityFields = { region: 1, zone: 2, subZone: 3 } as const;
const wrapped = 1;

/** A group with its members encoded. */
export function withEncodedMembers(group: LocalityGroup): LocalityGroup<EncodedMember> {
  return {
    ...group,
    members: group.members.map((member) => ({
      labels: member.labels,
      weight: member.weight,
      bytes: encodedField(localityEndpoints.lbEndpoints, [toBinary(LbEndpointSchema, weighted(member))]),
    })),
  };
}

/** The `ClusterLoadAssignment` of these groups. */
export function encodedAssignment(clusterName: string, groups: readonly LocalityGroup<EncodedMember>[]): Resource {
  return resource(clusterName, joinEncoded([encodedText(assignment.clusterName, clusterName), ...groups.map(encodedGroup)]));
}

function encodedGroup({ locality, members, weight, priority }: LocalityGroup<EncodedMember>): Uint8Array {
  const [region, zone, subZone] = splitLocality(locality);
  const { region: first, zone: second, subZone: third } = localityFields;
  return encodedField(assignment.endpoints, [
    encodedField(localityEndpoints.locality, [encodedText(first, region), encodedText(second, zone), encodedText(third, subZone)]),
    ...members.map(({ bytes }) => bytes),
    ...(weight === undefined ? [] : [encodedField(localityEndpoints.loadBalancingWeight, [encodedNumber(wrapped, weight)])]),
    encodedNumber(localityEndpoints.priority, priority),
  ]);
}
