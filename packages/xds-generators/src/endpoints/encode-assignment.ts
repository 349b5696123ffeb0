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
import type { EndpointMetadata } from "./reachability/endpoint-metadata.js";
import type { LbEndpoint } from "./reachability/lb-endpoint.js";
import type { LocalityGroup, Member, Weighted } from "./locality/locality-group.js";

/**
 * An endpoint encoded as an element of its locality. Clients differ in which localities they prefer, and hardly in what their endpoints are:
 * these are encoded once, and each class of clients puts them together in its own order.
 */
export interface EncodedMember extends Weighted {
  readonly bytes: Uint8Array;
}

const assignment = numbersOf(ClusterLoadAssignmentSchema);
const localityEndpoints = numbersOf(LocalityLbEndpointsSchema);
const localityFields = numbersOf(LocalitySchema);
const lbEndpoint = numbersOf(LbEndpointSchema);
const endpoint = numbersOf(EndpointSchema);
const additionalAddress = numbersOf(Endpoint_AdditionalAddressSchema);
const address = numbersOf(AddressSchema);
const socketAddress = numbersOf(SocketAddressSchema);
const pipe = numbersOf(PipeSchema);
const internalAddress = numbersOf(EnvoyInternalAddressSchema);
const metadataFields = numbersOf(MetadataSchema);
const structFields = numbersOf(StructSchema);
const valueFields = numbersOf(ValueSchema);
const uint32Value = numbersOf(UInt32ValueSchema);
/** Of the messages that entries of maps are. */
const mapEntry = { key: 1, value: 2 } as const;

const writer = new BackwardWriter();

/** A group with its members encoded. */
export function withEncodedMembers(group: LocalityGroup): LocalityGroup<EncodedMember> {
  return {
    ...group,
    members: group.members.map((member) => ({
      labels: member.labels,
      weight: member.weight,
      bytes: encodedMember(member),
    })),
  };
}

/** The `ClusterLoadAssignment` of these groups. */
export function encodedAssignment(clusterName: string, groups: readonly LocalityGroup<EncodedMember>[]): Uint8Array {
  writer.clear();
  for (let i = groups.length - 1; i >= 0; i--) writeGroup(groups[i] as LocalityGroup<EncodedMember>);
  writer.textField(assignment.clusterName, clusterName);
  return writer.finish();
}

function writeGroup({ locality, members, weight, priority }: LocalityGroup<EncodedMember>): void {
  const { length } = writer;
  writer.numberField(localityEndpoints.priority, priority);
  if (weight !== undefined) writeWeight(localityEndpoints.loadBalancingWeight, weight);
  for (let i = members.length - 1; i >= 0; i--) writer.bytes((members[i] as EncodedMember).bytes);
  writeLocality(locality);
  writer.enclose(assignment.endpoints, length);
}

function writeLocality(locality: string): void {
  const { length } = writer;
  const [region, zone, subZone] = splitLocality(locality);
  writer.textField(localityFields.subZone, subZone);
  writer.textField(localityFields.zone, zone);
  writer.textField(localityFields.region, region);
  writer.enclose(localityEndpoints.locality, length);
}

function encodedMember({ lb, weight }: Member): Uint8Array {
  writer.clear();
  writeWeight(lbEndpoint.loadBalancingWeight, weight);
  writeMetadata(lb.metadata);
  writer.numberField(lbEndpoint.healthStatus, lb.health);
  writeEndpoint(lb);
  writer.enclose(localityEndpoints.lbEndpoints, 0);
  return writer.finish();
}

function writeEndpoint(lb: LbEndpoint): void {
  const { length } = writer;
  for (let i = lb.others.length - 1; i >= 0; i--) {
    const start = writer.length;
    writeAddress(additionalAddress.address, lb.others[i] as LbEndpoint["address"]);
    writer.enclose(endpoint.additionalAddresses, start);
  }
  writeAddress(endpoint.address, lb.address);
  writer.enclose(lbEndpoint.endpoint, length);
}

function writeAddress(field: number, at: LbEndpoint["address"]): void {
  const { length } = writer;
  if ("listener" in at) {
    writer.textField(internalAddress.endpointId, at.endpoint);
    writer.chosenText(internalAddress.serverListenerName, at.listener);
    writer.enclose(address.envoyInternalAddress, length);
  } else if (at.port === 0) {
    writer.textField(pipe.path, unixPath(at.host));
    writer.enclose(address.pipe, length);
  } else {
    writer.number(at.port);
    writer.tag(socketAddress.portValue, "varint");
    writer.textField(socketAddress.address, at.host);
    writer.enclose(address.socketAddress, length);
  }
  writer.enclose(field, length);
}

function writeMetadata(metadata: EndpointMetadata): void {
  const { length } = writer;
  for (const filter of Object.keys(metadata).reverse()) {
    const start = writer.length;
    writeStruct(metadata[filter] ?? {});
    writer.chosenText(mapEntry.key, filter);
    writer.enclose(metadataFields.filterMetadata, start);
  }
  writer.enclose(lbEndpoint.metadata, length);
}

function writeStruct(fields: Readonly<Record<string, string>>): void {
  const { length } = writer;
  for (const name of Object.keys(fields).reverse()) {
    const start = writer.length;
    writer.chosenText(valueFields.stringValue, fields[name] ?? "");
    writer.enclose(mapEntry.value, start);
    writer.chosenText(mapEntry.key, name);
    writer.enclose(structFields.fields, start);
  }
  writer.enclose(mapEntry.value, length);
}

function writeWeight(field: number, weight: number): void {
  const { length } = writer;
  writer.numberField(uint32Value.value, weight);
  writer.enclose(field, length);
}

/** The numbers of a message's fields, by name. */
function numbersOf<Desc extends DescMessage>(schema: Desc): Readonly<Record<keyof Desc["field"], number>> {
  return Object.fromEntries(schema.fields.map(({ localName, number }) => [localName, number])) as Record<
    keyof Desc["field"],
    number
  >;
}
