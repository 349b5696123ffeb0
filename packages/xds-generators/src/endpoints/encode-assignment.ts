import type { DescMessage } from "@bufbuild/protobuf";
import { StructSchema, UInt32ValueSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  AddressSchema,
  EnvoyInternalAddressSchema,
  PipeSchema,
  SocketAddressSchema,
} from "@istiod/envoy-api/envoy/config/core/v3/address";
import { LocalitySchema, MetadataSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import {
  Endpoint_AdditionalAddressSchema,
  EndpointSchema,
  LbEndpointSchema,
  LocalityLbEndpointsSchema,
} from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint_components";
import { splitLocality } from "@istiod/service-discovery";
import { BackwardWriter } from "../encoding/backward-writer.js";
import { unixPath } from "../envoy/address.js";
import type { LocalityGroup, Member, Weighted } from "./locality/locality-group.js";
import type { EndpointMetadata } from "./reachability/endpoint-metadata.js";
import type { LbEndpoint } from "./reachability/lb-endpoint.js";

/**
 * An endpoint, encoded as an element of its locality. Clients differ in the localities that they prefer but hardly in
 * their endpoints, so endpoints are encoded once and each class of clients orders them.
 */
export interface EncodedMember extends Weighted {
  readonly bytes: Uint8Array;
  /** Set for a gateway to another network, which may stand for endpoints of several localities. */
  readonly gateway?: { readonly address: string; readonly lb: LbEndpoint };
}

const assignment = fieldNumbers(ClusterLoadAssignmentSchema);
const localityEndpoints = fieldNumbers(LocalityLbEndpointsSchema);
const localityFields = fieldNumbers(LocalitySchema);
const lbEndpoint = fieldNumbers(LbEndpointSchema);
const endpoint = fieldNumbers(EndpointSchema);
const additionalAddress = fieldNumbers(Endpoint_AdditionalAddressSchema);
const address = fieldNumbers(AddressSchema);
const socketAddress = fieldNumbers(SocketAddressSchema);
const pipe = fieldNumbers(PipeSchema);
const internalAddress = fieldNumbers(EnvoyInternalAddressSchema);
const metadataFields = fieldNumbers(MetadataSchema);
const structFields = fieldNumbers(StructSchema);
const valueFields = fieldNumbers(ValueSchema);
const uint32Value = fieldNumbers(UInt32ValueSchema);
/** Field numbers of map entries. */
const mapEntry = { key: 1, value: 2 } as const;

const writer = new BackwardWriter();

/** Encodes the members of a group. */
export function encodeMembers(group: LocalityGroup): LocalityGroup<EncodedMember> {
  return {
    ...group,
    members: group.members.map((member) => ({
      labels: member.labels,
      weight: member.weight,
      bytes: encodeMember(member),
      ...(member.endpoint === undefined && { gateway: gatewayOf(member) }),
    })),
  };
}

/** Returns a gateway with another weight. */
export function withGatewayWeight(member: EncodedMember, weight: number): EncodedMember {
  const { gateway } = member;
  return gateway === undefined
    ? member
    : { ...member, weight, bytes: encodeMember({ ...member, lb: gateway.lb, weight }) };
}

function gatewayOf({ lb }: Member): NonNullable<EncodedMember["gateway"]> {
  const { address: at } = lb;
  return { address: "host" in at ? `${at.host}:${at.port}` : at.endpoint, lb };
}

/** Encodes a `ClusterLoadAssignment`. */
export function encodeLoadAssignment(clusterName: string, groups: readonly LocalityGroup<EncodedMember>[]): Uint8Array {
  writer.clear();
  for (let i = groups.length - 1; i >= 0; i--) writeGroup(groups[i] as LocalityGroup<EncodedMember>);
  writer.stringField(assignment.clusterName, clusterName);
  return writer.finish();
}

function writeGroup({ locality, members, weight, priority }: LocalityGroup<EncodedMember>): void {
  const { length } = writer;
  writer.varintField(localityEndpoints.priority, priority);
  if (weight !== undefined) writeWeight(localityEndpoints.loadBalancingWeight, weight);
  for (let i = members.length - 1; i >= 0; i--) writer.bytes((members[i] as EncodedMember).bytes);
  writeLocality(locality);
  writer.closeField(assignment.endpoints, length);
}

function writeLocality(locality: string): void {
  const { length } = writer;
  const [region, zone, subZone] = splitLocality(locality);
  writer.stringField(localityFields.subZone, subZone);
  writer.stringField(localityFields.zone, zone);
  writer.stringField(localityFields.region, region);
  writer.closeField(localityEndpoints.locality, length);
}

function encodeMember({ lb, weight }: Pick<Member, "lb" | "weight">): Uint8Array {
  writer.clear();
  writeWeight(lbEndpoint.loadBalancingWeight, weight);
  writeMetadata(lb.metadata);
  writer.varintField(lbEndpoint.healthStatus, lb.health);
  writeEndpoint(lb);
  writer.closeField(localityEndpoints.lbEndpoints, 0);
  return writer.finish();
}

function writeEndpoint(lb: LbEndpoint): void {
  const { length } = writer;
  for (let i = lb.additionalAddresses.length - 1; i >= 0; i--) {
    const start = writer.length;
    writeAddress(additionalAddress.address, lb.additionalAddresses[i] as LbEndpoint["address"]);
    writer.closeField(endpoint.additionalAddresses, start);
  }
  writeAddress(endpoint.address, lb.address);
  writer.closeField(lbEndpoint.endpoint, length);
}

function writeAddress(field: number, at: LbEndpoint["address"]): void {
  const { length } = writer;
  if ("listener" in at) {
    writer.stringField(internalAddress.endpointId, at.endpoint);
    writer.explicitStringField(internalAddress.serverListenerName, at.listener);
    writer.closeField(address.envoyInternalAddress, length);
  } else if (at.port === 0) {
    writer.stringField(pipe.path, unixPath(at.host));
    writer.closeField(address.pipe, length);
  } else {
    writer.varint(at.port);
    writer.tag(socketAddress.portValue, "varint");
    writer.stringField(socketAddress.address, at.host);
    writer.closeField(address.socketAddress, length);
  }
  writer.closeField(field, length);
}

function writeMetadata(metadata: EndpointMetadata): void {
  const { length } = writer;
  for (const filter of Object.keys(metadata).reverse()) {
    const start = writer.length;
    writeStruct(metadata[filter] ?? {});
    writer.explicitStringField(mapEntry.key, filter);
    writer.closeField(metadataFields.filterMetadata, start);
  }
  writer.closeField(lbEndpoint.metadata, length);
}

function writeStruct(fields: Readonly<Record<string, string>>): void {
  const { length } = writer;
  for (const name of Object.keys(fields).reverse()) {
    const start = writer.length;
    writer.explicitStringField(valueFields.stringValue, fields[name] ?? "");
    writer.closeField(mapEntry.value, start);
    writer.explicitStringField(mapEntry.key, name);
    writer.closeField(structFields.fields, start);
  }
  writer.closeField(mapEntry.value, length);
}

function writeWeight(field: number, weight: number): void {
  const { length } = writer;
  writer.varintField(uint32Value.value, weight);
  writer.closeField(field, length);
}

/** Returns the field numbers of a message, by name. */
function fieldNumbers<Desc extends DescMessage>(schema: Desc): Readonly<Record<keyof Desc["field"], number>> {
  return Object.fromEntries(schema.fields.map(({ localName, number }) => [localName, number])) as Record<
    keyof Desc["field"],
    number
  >;
}
