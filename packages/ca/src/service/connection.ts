import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { type ContextValues, createContextKey, createContextValues } from "@connectrpc/connect";
import { type Peer, peerOf } from "../identity/peer.js";

/** Context key of the client of a call; set by `connectionValues`. Default: a plaintext client without credentials. */
export const connectionKey = createContextKey<Peer>(
  { address: "", port: 0, headers: {} },
  { description: "the client of the call" },
);

/** For `connectNodeAdapter({ contextValues })`. Without it every call counts as plaintext and without credentials. */
export function connectionValues(request: IncomingMessage | Http2ServerRequest): ContextValues {
  return createContextValues().set(connectionKey, peerOf(request));
}
