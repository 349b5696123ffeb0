import { Code, ConnectError } from "@connectrpc/connect";
import type { XdsServer } from "../api.js";
import type { Peer } from "../source.js";
import type { Call, DiscoveryMethod, OutgoingMessage } from "../transport/call.js";
import { completed } from "../sliced.js";
import { decodeRequest } from "./request.js";
import type { Channel, ChannelEvents } from "./channel.js";

/** Opens a stream to a server in the same process, without a network connection. */
export function openInMemory(server: XdsServer, method: DiscoveryMethod, peer: Peer, events: ChannelEvents): Channel {
  let paused = false;
  let over = false;
  let waiting: OutgoingMessage[] = [];
  const finish = (error: ConnectError | undefined): void => {
    if (over) return;
    over = true;
    handler.closed("the stream ended");
    setImmediate(() => events.ended(error));
  };
  const call: Call & { outstandingBytes: number } = {
    peer,
    method,
    outstandingBytes: 0,
    copies: false,
    send(message) {
      call.outstandingBytes += message.length;
      waiting.push(message);
      setImmediate(deliver);
    },
    end: (error) => setImmediate(() => (deliver(), finish(error))),
    abort: () => finish(new ConnectError("the stream was reset", Code.Canceled)),
  };
  const deliver = (): void => {
    if (paused || over) return;
    const messages = waiting;
    waiting = [];
    for (const { head, bodies, length } of messages) {
      events.message(Buffer.concat([head, ...bodies.flatMap(({ pieces }) => pieces)], length));
      call.outstandingBytes -= length;
    }
    if (messages.length > 0) handler.progressed();
  };
  const handler = server.accept(call);
  let requests = Promise.resolve();
  return {
    send(message) {
      const request = decodeRequest(method.variant, Buffer.from(message));
      requests = requests.then(() => (over ? undefined : handler.request(completed(request), message.length)));
    },
    halfClose: () => void requests.then(() => handler.halfClosed()),
    cancel: () => finish(new ConnectError("cancelled", Code.Canceled)),
    pause(value) {
      paused = value;
      setImmediate(deliver);
    },
  };
}
