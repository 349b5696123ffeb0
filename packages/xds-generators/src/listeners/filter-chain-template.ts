import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { FilterChainSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { encodeMessageField } from "@istiod/protobuf-wire";
import { encodeManagerFilter } from "./http/http-connection-manager.js";

/**
 * A filter chain, encoded except for its tracing configuration. Tracing names the workload, and hardly anything else in
 * a listener does, so workloads share templates and a listener for one of them is a copy of bytes.
 */
export interface FilterChainTemplate {
  /** The chain without its connection manager. */
  readonly chain: Uint8Array;
  /** The connection manager, the last filter of an HTTP chain, without tracing. Absent for TCP chains. */
  readonly manager?: Uint8Array;
}

/** The field of the listener for a chain. */
type ChainField = "filterChains" | "defaultFilterChain";

/** Encodes a chain as a field of a listener. `tracing` is called only for HTTP chains. */
export function encodeListenerChain(
  { chain, manager }: FilterChainTemplate,
  tracing: () => Uint8Array,
  field: ChainField = "filterChains",
): Uint8Array {
  return encodeMessageField(
    ListenerSchema.field[field].number,
    manager === undefined ? [chain] : [chain, encodeManagerFilter(manager, tracing())],
  );
}

/** Encodes a chain or a part of one. */
export function encodeChain(init: MessageInitShape<typeof FilterChainSchema>): Uint8Array {
  return toBinary(FilterChainSchema, create(FilterChainSchema, init));
}
