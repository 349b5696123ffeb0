import { BlockList, isIPv4, isIPv6 } from "node:net";
import { type FieldError, invalid } from "../http/status-error.js";
import { type ApiObject, isJsonObject, type JsonObject } from "./object.js";
import type { Store } from "./store.js";

type Family = "IPv4" | "IPv6";

interface AddressRange {
  readonly cidr: string;
  readonly addresses: BlockList;
  /** Returns the address at an offset in the range. */
  readonly at: (offset: number) => string;
}

function rangeOf(network: string, prefix: number, family: "ipv4" | "ipv6", at: AddressRange["at"]): AddressRange {
  const addresses = new BlockList();
  addresses.addSubnet(network, prefix, family);
  return { cidr: `${network}/${prefix}`, addresses, at };
}

const ranges: Readonly<Record<Family, AddressRange>> = {
  IPv4: rangeOf("10.96.0.0", 16, "ipv4", (offset) => `10.96.${offset >> 8}.${offset & 255}`),
  IPv6: rangeOf("fd00:10:96::", 112, "ipv6", (offset) => `fd00:10:96::${offset.toString(16)}`),
};
const rangeSize = 65_536;
const [firstNodePort, lastNodePort] = [30_000, 32_767];

const fieldError = (field: string, value: unknown, message: string): FieldError => ({
  field,
  reason: "FieldValueInvalid",
  message: `Invalid value: ${JSON.stringify(value)}: ${message}`,
});

const specOf = ({ spec }: ApiObject): JsonObject => (isJsonObject(spec) ? spec : {});
const portsOf = ({ ports }: JsonObject): readonly JsonObject[] =>
  Array.isArray(ports) ? ports.filter(isJsonObject) : [];
const stringsIn = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);
const nodePortKey = ({ protocol = "TCP", nodePort }: JsonObject): string => `${String(protocol)}/${Number(nodePort)}`;

/** Returns an address in its shortest form, undefined for other text. */
function canonical(address: string): string | undefined {
  if (isIPv4(address)) return address;
  return isIPv6(address) ? new URL(`http://[${address}]`).hostname.slice(1, -1) : undefined;
}

/** Returns the addresses and node ports that a Service holds. */
function heldBy(service: ApiObject): readonly string[] {
  const spec = specOf(service);
  const addresses = stringsIn(spec.clusterIPs).map(canonical);
  const ports = portsOf(spec).filter(({ nodePort }) => Number(nodePort ?? 0) !== 0);
  return [...addresses.filter((address) => address !== undefined), ...ports.map(nodePortKey)];
}

/** Assigns cluster IPs and node ports to Services, each to one Service only. */
export class ServiceAllocator {
  readonly #rejects: boolean;
  /** Number of stored Services by the values that they hold. */
  readonly #stored = new Map<string, number>();
  /** Values of Services that are not stored yet. */
  readonly #reserved = new Set<string>();

  /** @param rejects Rejects values that are taken or out of range. */
  constructor(store: Store, rejects: boolean) {
    this.#rejects = rejects;
    const count = (service: ApiObject | undefined, difference: number): void => {
      for (const value of service === undefined ? [] : heldBy(service)) {
        const left = (this.#stored.get(value) ?? 0) + difference;
        if (left > 0) this.#stored.set(value, left);
        else this.#stored.delete(value);
      }
    };
    store.subscribe("/services", ({ previous, object, isDeleted }) => {
      count(previous, -1);
      if (!isDeleted) count(object, 1);
    });
  }

  /**
   * Completes the addresses and ports of a Service, also with those of its previous state that it leaves out.
   *
   * @returns releases the values, which the caller does when the Service is stored or rejected
   * @throws StatusError 422 if another Service has them, or they are out of range
   */
  allocate(service: ApiObject, previous?: ApiObject): () => void {
    const held = previous === undefined ? [] : heldBy(previous);
    const added = new Set<string>();
    const take = (value: string): boolean => {
      if (held.includes(value)) return true;
      if (this.#stored.has(value) || this.#reserved.has(value) || added.has(value)) return false;
      added.add(value);
      return true;
    };
    const spec = specOf(service);
    if (previous !== undefined) keepAllocated(spec, specOf(previous));
    const error = allocateAddresses(spec, take, this.#rejects) ?? allocateNodePorts(spec, new Set(held), take);
    if (error !== undefined && this.#rejects) throw invalid("Service", "", service.metadata.name ?? "", [error]);
    for (const value of added) this.#reserved.add(value);
    return () => {
      for (const value of added) this.#reserved.delete(value);
    };
  }
}

/** Restores what an update leaves out. */
function keepAllocated(spec: JsonObject, previous: JsonObject): void {
  if (spec.type === "ExternalName" || previous.type === "ExternalName") return;
  spec.clusterIP ??= previous.clusterIP;
  if (spec.clusterIP === previous.clusterIP) spec.clusterIPs ??= previous.clusterIPs;
  spec.ipFamilies ??= previous.ipFamilies;
  spec.ipFamilyPolicy ??= previous.ipFamilyPolicy;
  if (spec.type === "ClusterIP") return;
  for (const port of portsOf(spec)) {
    const same = portsOf(previous).find((old) => old.port === port.port && old.protocol === port.protocol);
    if (same?.nodePort !== undefined) port.nodePort ??= same.nodePort;
  }
}

function allocateAddresses(
  spec: JsonObject,
  take: (value: string) => boolean,
  rejects: boolean,
): FieldError | undefined {
  if (spec.type === "ExternalName") {
    for (const field of ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"]) delete spec[field];
    return undefined;
  }
  const requested = [...stringsIn(spec.clusterIPs)];
  if (spec.clusterIP !== undefined && spec.clusterIP !== "") requested[0] = String(spec.clusterIP);
  const families = familiesOf(spec, requested[0] ?? "");
  spec.ipFamilies = families;
  spec.ipFamilyPolicy ??= families.length === 2 ? "RequireDualStack" : "SingleStack";
  if (requested[0] === "None") {
    Object.assign(spec, { clusterIP: "None", clusterIPs: ["None"] });
    return undefined;
  }
  const addresses: string[] = [];
  for (const [at, family] of families.entries()) {
    const text = requested[at] ?? "";
    const address = text === "" ? freeAddress(family, take) : canonical(text);
    const error = text === "" ? undefined : addressError(text, address, { at, family, requested, take });
    if (error !== undefined && rejects) return error;
    const assigned = text === "" ? address : text;
    if (assigned === undefined) return fieldError("spec.clusterIPs", requested, "failed to allocate IP: range is full");
    addresses.push(assigned);
  }
  Object.assign(spec, { clusterIP: addresses[0], clusterIPs: addresses });
  return undefined;
}

interface RequestedAddress {
  readonly at: number;
  readonly family: Family;
  readonly requested: readonly string[];
  readonly take: (value: string) => boolean;
}

function addressError(text: string, address: string | undefined, { at, family, requested, take }: RequestedAddress) {
  if (address === undefined) {
    const message = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
    return fieldError(`spec.clusterIPs[${at}]`, text, message);
  }
  const { addresses, cidr } = ranges[family];
  const failed = (reason: string): FieldError =>
    fieldError("spec.clusterIPs", requested, `failed to allocate IP ${address}: ${reason}`);
  if (!addresses.check(address, isIPv4(address) ? "ipv4" : "ipv6"))
    return failed(`the provided IP (${address}) is not in the valid range. The range of valid IPs is ${cidr}`);
  return take(address) ? undefined : failed("provided IP is already allocated");
}

/** Returns the families of a Service: one of IPv4 unless it requests others. */
function familiesOf({ ipFamilies, ipFamilyPolicy }: JsonObject, address: string): readonly Family[] {
  const families = stringsIn(ipFamilies) as Family[];
  if (families.length === 0) families.push(isIPv6(address) ? "IPv6" : "IPv4");
  const isDual = ipFamilyPolicy === "RequireDualStack" || ipFamilyPolicy === "PreferDualStack";
  if (isDual && families.length === 1) families.push(families[0] === "IPv4" ? "IPv6" : "IPv4");
  return families;
}

function freeAddress(family: Family, take: (value: string) => boolean): string | undefined {
  for (let offset = 1; offset < rangeSize; offset += 1) {
    const address = ranges[family].at(offset);
    if (take(address)) return address;
  }
  return undefined;
}

function allocateNodePorts(
  spec: JsonObject,
  held: ReadonlySet<string>,
  take: (value: string) => boolean,
): FieldError | undefined {
  const { type, allocateLoadBalancerNodePorts } = spec;
  const isWanted = type === "NodePort" || (type === "LoadBalancer" && allocateLoadBalancerNodePorts !== false);
  for (const [at, port] of portsOf(spec).entries()) {
    const failed = (message: string): FieldError =>
      fieldError(`spec.ports[${at}].nodePort`, port.nodePort ?? 0, message);
    const number = Number(port.nodePort ?? 0);
    if (number === 0) {
      if (isWanted && !assignNodePort(port, take)) return failed("range is full");
      continue;
    }
    const key = nodePortKey(port);
    if (!held.has(key) && (number < firstNodePort || number > lastNodePort))
      return failed(
        `provided port is not in the valid range. The range of valid ports is ${firstNodePort}-${lastNodePort}`,
      );
    if (!take(key)) return failed("provided port is already allocated");
  }
  return undefined;
}

function assignNodePort(port: JsonObject, take: (value: string) => boolean): boolean {
  for (let nodePort = firstNodePort; nodePort <= lastNodePort; nodePort += 1) {
    if (!take(nodePortKey({ ...port, nodePort }))) continue;
    port.nodePort = nodePort;
    return true;
  }
  return false;
}
