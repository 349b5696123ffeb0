import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { FilterChainSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { encodeMessageField } from "../encoding/encode.js";
import { encodeManagerFilter } from "./http/http-connection-manager.js";

/**
 * A filter chain, encoded but for how its requests are traced. Traces name the workload, and hardly anything else in a listener does: so
 * workloads share templates, and what is made for each of them is a copy of bytes.
 */
export interface FilterChainTemplate {
  /** All but a connection manager. */
  readonly chain: Uint8Array;
  /** The connection manager that is its last filter, without tracing; absent where the chain sees bytes and not requests. */
  readonly manager?: Uint8Array;
}

/** Which field of a listener a chain is for. */
type ChainField = "filterChains" | "defaultFilterChain";

/** The chain as one part of a listener, with requests traced as `tracing` says, which is asked for only where there are requests. */
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

/** A chain, or a part of one, encoded. */
export function encodeChain(init: MessageInitShape<typeof FilterChainSchema>): Uint8Array {
  return toBinary(FilterChainSchema, create(FilterChainSchema, init));
}
