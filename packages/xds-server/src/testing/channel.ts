import type { ConnectError } from "@connectrpc/connect";

/** The client side of one gRPC stream of a discovery service, with encoded messages. */
export interface Channel {
  send(message: Uint8Array): void;
  /** Half-closes the stream. */
  halfClose(): void;
  /** Resets the stream. */
  cancel(): void;
  /** Stops or resumes reading, so that the server is blocked. */
  pause(paused: boolean): void;
}

export interface ChannelEvents {
  message(message: Uint8Array): void;
  /** Called when the stream has ended; undefined means status OK. */
  ended(error: ConnectError | undefined): void;
}
