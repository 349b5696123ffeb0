import { setImmediate as immediate } from "node:timers/promises";
import { toBinary } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { encodeStringField, WireError } from "@istiod/protobuf-wire";
import { clusterType, createXdsServer, endpointType, staticSource, type XdsServer } from "@istiod/xds-server";
import {
  type Channel,
  decodeRequest,
  encodeRequest,
  fakeEdsCluster,
  fakeResource,
  openChannel,
} from "@istiod/xds-server/testing";
import type { Target } from "../target.js";

type Variant = "delta" | "sotw";

const variants: readonly Variant[] = ["delta", "sotw"];
const names = ["a", "b", "c"];
/** Bytes of all resources that the server has, with room for the envelopes. */
const maxResponseBytes = 4096;
const maxMessages = 16;

const node = toBinary(NodeSchema, {
  $typeName: "envoy.config.core.v3.Node",
  id: "sidecar~10.0.0.1~cart-1.shop~shop.svc.cluster.local",
  cluster: "cart.shop",
  metadata: { NAMESPACE: "shop", LABELS: { app: "cart" }, list: [1, null, true, ["x"]] },
  dynamicParameters: {},
  userAgentName: "envoy",
  userAgentVersionType: { case: "userAgentVersion", value: "1.36" },
  extensions: [],
  clientFeatures: ["envoy.lb.does_not_support_overprovisioning"],
  listeningAddresses: [],
});

/** Streams of xDS requests: the variant, then messages with a length of two bytes. */
export const xdsRequests: Target = {
  name: "xds-requests",
  description: "requests of an xDS stream and their effects",
  seeds: [
    stream("delta", [
      { node, typeUrl: clusterType },
      { typeUrl: endpointType, names, initialVersions: [["a", "1"]] },
      { typeUrl: endpointType, names: ["d", "*"], unsubscribe: ["a", "*"] },
      { typeUrl: clusterType, nonce: "x.1.1", error: 'rejected "a"' },
    ]),
    stream("sotw", [
      { node, typeUrl: clusterType, version: "1" },
      { typeUrl: endpointType, names },
      { typeUrl: endpointType, names: ["*"], nonce: "x.1.2" },
      { typeUrl: "example.com/Unknown", names: ["a", "a"] },
    ]),
  ],
  dictionary: [
    ...names.map((name) => encodeStringField(3, name)),
    ...[2, 4].map((field) => encodeStringField(field, endpointType)),
    encodeStringField(3, "*"),
    encodeStringField(4, "*"),
    Buffer.from([0, 0]),
    Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f]),
  ],
  async run(input) {
    const variant = variants[(input[0] ?? 0) % 2] ?? "delta";
    const messages = messagesIn(input.subarray(1));
    for (const message of messages) for (const each of variants) read(each, message);
    const server = createXdsServer(
      staticSource({
        [clusterType]: names.map((name) => fakeEdsCluster(name)),
        [endpointType]: names.map((name) => fakeResource(name)),
      }),
      { limits: { unauthenticated: { types: 4, names: 64, unmatchedBytes: 65_536 } } },
    );
    try {
      await apply(server, variant, messages);
    } finally {
      await server.close({ graceMs: 0 });
    }
  },
};

function stream(variant: Variant, requests: readonly Parameters<typeof encodeRequest>[1][]): Buffer {
  const parts = requests.map((request) => encodeRequest(variant, request));
  const framed = parts.flatMap((part) => [Buffer.from([part.length >> 8, part.length & 0xff]), part]);
  return Buffer.concat([Buffer.from([variants.indexOf(variant)]), ...framed]);
}

function messagesIn(bytes: Uint8Array): Uint8Array[] {
  const messages: Uint8Array[] = [];
  for (let at = 0; at < bytes.length && messages.length < maxMessages;) {
    const length = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
    messages.push(bytes.subarray(at + 2, at + 2 + length));
    at += 2 + length;
  }
  return messages;
}

/** Decodes a request with its node, and iterates over its lists. */
function read(variant: Variant, message: Uint8Array): void {
  try {
    const {
      node: decoded,
      names: subscribed,
      unsubscribe,
      initialVersions,
    } = decodeRequest(variant, Buffer.from(message));
    JSON.stringify(decoded?.metadata);
    for (const list of [subscribed, unsubscribe, initialVersions, initialVersions.detach()]) {
      let count = 0;
      for (const _ of list) count++;
      if (count !== list.size || count > message.length) throw new Error(`${count} entries, not ${list.size}`);
    }
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
  }
}

/** Sends the messages on a stream, and checks that the answers are bounded and that the stream does not fail inside. */
async function apply(server: XdsServer, variant: Variant, messages: readonly Uint8Array[]): Promise<void> {
  let responses = 0;
  let faults: string[] = [];
  const channel = openChannel(server, variant, {
    message: ({ length }) => {
      responses++;
      if (length > maxResponseBytes) faults.push(`a response of ${length} bytes`);
    },
    ended: (error) => {
      if (error?.rawMessage === "internal error") faults.push(`failed: ${String(error.cause)}`);
    },
  });
  for (const message of messages) send(channel, message);
  for (let turn = 0; turn < 4; turn++) await immediate();
  // Each request is answered once, and clusters are followed by the endpoints that they wait for.
  if (responses > 2 * messages.length) faults = [...faults, `${responses} responses to ${messages.length} requests`];
  channel.cancel();
  await immediate();
  if (server.connections().length > 0) faults = [...faults, "a stream is left"];
  if (faults.length > 0) throw new Error(faults.join(", "));
}

function send(channel: Channel, message: Uint8Array): void {
  try {
    channel.send(message);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
  }
}
