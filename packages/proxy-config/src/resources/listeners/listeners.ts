import type { Address } from "@istiod/envoy-api/envoy/config/core/v3/address";
import { type Listener, ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { compare } from "../cluster-name.js";
import {
  type ConfigDump,
  type DumpedResource,
  dumpedResource,
  objectIn,
  packedIn,
  section,
} from "../../dump/config-dump.js";
import { describeDestination, filterKind } from "./filter-chain-destination.js";
import { describeFilterChainMatch } from "./filter-chain-match.js";
import { filterChains } from "./filter-chains.js";
import type { Table } from "../../table.js";

/** Selects listeners; absent fields select all. */
export interface ListenerFilter {
  /** An address that the listener is bound to, additional ones included. */
  readonly address?: string | undefined;
  readonly port?: number | undefined;
  /** `HTTP`, `TCP`, `HTTP+TCP` or `UNKNOWN`, in any case. */
  readonly type?: string | undefined;
}

export interface ListenerTableOptions {
  /** Prints a row for each filter chain instead of the listener's type. Default: true. */
  readonly verbose?: boolean | undefined;
  /** True if rows start with `listener/` and the resource's name. Default: false. */
  readonly named?: boolean | undefined;
}

/** Returns the active listeners of a dump, in the dump's order. */
export function listeners(dump: ConfigDump, filter: ListenerFilter = {}): readonly DumpedResource<Listener>[] {
  const found = section(dump, "ListenersConfigDump");
  const dynamic = packedIn(found, ["dynamicListeners"], "activeState")
    .map((state) => objectIn(state, "listener"))
    .filter((packed) => packed !== undefined);
  const fixed = packedIn(found, ["staticListeners"], "listener");
  return [...dynamic, ...fixed]
    .map((json) => dumpedResource(ListenerSchema, json))
    .filter(({ message }) => matches(message, filter));
}

/** Summarizes listeners, sorted by port, address and type. */
export function listenerTable(
  found: readonly DumpedResource<Listener>[],
  { verbose = true, named = false }: ListenerTableOptions = {},
): Table {
  const sorted = found.toSorted(byPlace);
  const rows = sorted.flatMap(({ message }) => {
    const place = [
      ...(named ? [`listener/${message.name}`] : []),
      addressesOf(message).join(","),
      String(portOf(message)),
    ];
    return verbose ? chainRows(message).map((chain) => [...place, ...chain]) : [[...place, listenerType(message)]];
  });
  return [
    [...(named ? ["NAME"] : []), "ADDRESSES", "PORT", ...(verbose ? ["MATCH", "DESTINATION"] : ["TYPE"])],
    ...rows,
  ];
}

function byPlace({ message: a }: DumpedResource<Listener>, { message: b }: DumpedResource<Listener>): number {
  return (
    portOf(a) - portOf(b) ||
    compare(addressOf(a.address), addressOf(b.address)) ||
    compare(listenerType(a), listenerType(b)) ||
    compare(a.name, b.name)
  );
}

function chainRows(listener: Listener): string[][] {
  const rows = filterChains(listener).map((chain) => [
    describeFilterChainMatch(chain.filterChainMatch),
    describeDestination(chain.filters),
  ]);
  return rows.sort((a, b) => compare(b[1] ?? "", a[1] ?? ""));
}

function matches(listener: Listener, { address, port, type }: ListenerFilter): boolean {
  const addressed = !address || addressesOf(listener).some((each) => each.toLowerCase() === address.toLowerCase());
  return (
    addressed &&
    (!port || portOf(listener) === port) &&
    (!type || listenerType(listener).toLowerCase() === type.toLowerCase())
  );
}

function listenerType(listener: Listener): string {
  const kinds = new Set(filterChains(listener).flatMap(({ filters }) => filters.map(filterKind)));
  if (kinds.has("HTTP")) return kinds.has("TCP") ? "HTTP+TCP" : "HTTP";
  return kinds.has("TCP") ? "TCP" : "UNKNOWN";
}

function addressesOf(listener: Listener): readonly string[] {
  return [addressOf(listener.address), ...listener.additionalAddresses.map(({ address }) => addressOf(address))];
}

function addressOf(address: Address | undefined): string {
  if (address?.address.case === "socketAddress") return address.address.value.address;
  return address?.address.case === "pipe" ? address.address.value.path : "";
}

function portOf({ address }: Listener): number {
  const specifier = address?.address.case === "socketAddress" ? address.address.value.portSpecifier : undefined;
  return specifier?.case === "portValue" ? specifier.value : 0;
}
