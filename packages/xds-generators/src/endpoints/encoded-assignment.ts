import { splitLocality } from "@istiod/service-discovery";
import { BackwardWriter } from "../envoy/backward-writer.js";
import { unixPath } from "../envoy/address.js";
import type { EndpointMetadata } from "./endpoint-metadata.js";
import type { LbEndpoint } from "./lb-endpoint.js";
import type { LocalityGroup, Member, Weighted } from "./locality-group.js";

/**
 * An endpoint encoded as an element of its locality. Clients differ in which localities they prefer, and hardly in what their endpoints are:
 * these are encoded once, and each class of clients puts them together in its own order.
 */
export interface EncodedMember extends Weighted {
  readonly bytes: Uint8Array;
}

/** Numbers of fields, by message. */
const assignment = { clusterName: 1, endpoints: 2 } as const;
const localityEndpoints = { locality: 1, lbEndpoints: 2, loadBalancingWeight: 3, priority: 5 } as const;
const localityFields = { region: 1, zone: 2, subZone: 3 } as const;
const lbEndpoint = { endpoint: 1, healthStatus: 2, metadata: 3, loadBalancingWeight: 4 } as const;
const endpoint = { address: 1, additionalAddresses: 4 } as const;
const additionalAddress = { address: 1 } as const;
const address = { socketAddress: 1, pipe: 2, envoyInternalAddress: 3 } as const;
const socketAddress = { address: 2, portValue: 3 } as const;
const pipe = { path: 1 } as const;
const internalAddress = { serverListenerName: 1, endpointId: 2 } as const;
const metadataFields = { filterMetadata: 1 } as const;
const structFields = { fields: 1 } as const;
const mapEntry = { key: 1, value: 2 } as const;
const valueFields = { stringValue: 3 } as const;
const uint32Value = { value: 1 } as const;

const writer = new BackwardWriter();

/** A group with its members encoded. */
export function withEncodedMembers(group: LocalityGroup): LocalityGroup<EncodedMember> {
  return { ...group, members: group.members.map((member) => ({ labels: member.labels, weight: member.weight, bytes: encodedMember(member) })) };
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
    writer.tag(socketAddress.portValue, "variable");
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
