import { setTimeout as wait } from "node:timers/promises";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { type Address, type Channel, encodeRequest, openChannel, type WireRequest } from "@istiod/xds-server/testing";

/** Streams on connections of their own. */
export interface StreamFlood {
  readonly streams: number;
  /** Sends the requests of a stream once it is open. */
  readonly requests: (stream: number) => readonly WireRequest[];
  /** Request headers. Default: none, so that the streams have no credentials. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Reports whether a stream does not read. Default: every stream reads. */
  readonly isPaused?: (stream: number) => boolean;
  /** Time between the streams, in milliseconds. Default 1. */
  readonly intervalMs?: number;
  /** Time that the streams stay open after their requests, in milliseconds. Default 2,000. */
  readonly holdMs?: number;
}

/** Opens the streams one after another, holds them, closes them, and returns how many istiod ended. */
export async function floodStreams(address: Address, flood: StreamFlood): Promise<string> {
  const { streams, requests, headers = {}, isPaused = () => false, intervalMs = 1, holdMs = 2000 } = flood;
  const channels: Channel[] = [];
  const reasons = new Map<string, number>();
  let bytes = 0;
  for (let stream = 0; stream < streams; stream++) {
    const channel = openChannel(
      address,
      "delta",
      {
        message: () => undefined,
        ended: (error) => {
          const reason = error?.message ?? "OK";
          reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
        },
      },
      { headers },
    );
    channels.push(channel);
    if (isPaused(stream)) channel.pause(true);
    for (const request of requests(stream)) {
      const message = encodeRequest("delta", request);
      bytes += message.length;
      channel.send(message);
    }
    await wait(intervalMs);
  }
  await wait(holdMs);
  const ended = [...reasons].map(([reason, count]) => `${count} × ${reason}`).join("; ");
  for (const channel of channels) channel.cancel();
  return `${streams} streams, ${(bytes / 1e6).toFixed(1)} MB; ended by istiod: ${ended === "" ? "none" : ended}`;
}

/** Returns an encoded node of a sidecar. */
export function sidecarNode(stream: number, fields: MessageInitShape<typeof NodeSchema> = {}): Uint8Array {
  const id = `sidecar~10.9.${stream >> 8}.${stream & 255}~stranger-${stream}.default~default.svc.cluster.local`;
  return toBinary(
    NodeSchema,
    create(NodeSchema, { id, metadata: { NAMESPACE: "default" }, ...fields } as MessageInitShape<typeof NodeSchema>),
  );
}
