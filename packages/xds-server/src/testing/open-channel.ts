import type { Variant } from "../events.js";
import type { XdsServer } from "../api.js";
import type { Peer } from "../source.js";
import type { DiscoveryMethod } from "../transport/call.js";
import type { Channel, ChannelEvents } from "./channel.js";
import { type Address, openGrpc } from "./grpc-channel.js";
import { openInMemory } from "./in-memory-channel.js";

export type Target = XdsServer | Address;

/** Opens a stream: in memory if the target is a server, over gRPC if it is an address. */
export function openChannel(
  target: Target,
  variant: Variant,
  events: ChannelEvents,
  options: { readonly headers?: Readonly<Record<string, string>>; readonly peer?: Peer; readonly path?: string } = {},
): Channel {
  const method: DiscoveryMethod = { variant, typeUrl: undefined };
  if ("accept" in target)
    return openInMemory(
      target,
      method,
      options.peer ?? { address: "memory", port: 0, headers: options.headers ?? {} },
      events,
    );
  const rpc = variant === "delta" ? "DeltaAggregatedResources" : "StreamAggregatedResources";
  const path = options.path ?? `/envoy.service.discovery.v3.AggregatedDiscoveryService/${rpc}`;
  return openGrpc(target, path, options.headers ?? {}, events);
}
