import type { ServerHttp2Stream } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import type { LoopTimers } from "@istiod/tls-admission";
import type { LimitReason } from "../limits/limit-reason.js";
import type { PeerKey } from "../limits/peer-key.js";
import type { RequestMemory } from "../limits/request-memory.js";
import { MessageReader } from "./message-reader.js";

/** Limits of the requests of a listener. */
export interface RequestLimits {
  readonly maxRequestBytes: number;
  /** Time from the start of a stream to the first byte of its first request. */
  readonly firstRequestTimeoutMs: number;
  readonly memory: RequestMemory;
  readonly timers: LoopTimers;
}

/** Receives what is read from a stream. */
export interface RequestIntake {
  /** Handles a message, as in `MessageReaderOptions`. */
  message(message: Buffer): Promise<void> | undefined;
  /** Called when the client has half-closed the stream after a complete message. */
  halfClosed(): void;
  /** Called at most once, if the body is invalid or exceeds a limit. Nothing is read thereafter. */
  failed(error: unknown, reason: LimitReason | undefined): void;
}

/** Reads the messages of a stream within the limits. Returns a function that stops reading. */
export function readRequests(
  stream: ServerHttp2Stream,
  peer: PeerKey,
  limits: RequestLimits,
  intake: RequestIntake,
): () => void {
  let isStopped = false;
  const stop = (): void => {
    isStopped = true;
    stopWaiting();
    stream.removeAllListeners("data").resume();
    reader.close();
  };
  const failed = (error: unknown, reason?: LimitReason): void => {
    if (isStopped) return;
    stop();
    intake.failed(error, reason ?? limitReason(error));
  };
  const reader = new MessageReader({
    maxBytes: limits.maxRequestBytes,
    begin: () => limits.memory.begin(peer, failed),
    message: (message) => intake.message(message),
  });
  const stopWaiting = limits.timers.after(limits.firstRequestTimeoutMs, () =>
    failed(new ConnectError("no request received in time", Code.DeadlineExceeded), "first_request_timeout"),
  );
  const guarded = (read: () => Promise<void> | undefined): void => {
    try {
      const busy = read();
      // A paused stream with unread bytes would never be destroyed.
      if (busy === undefined || isStopped) return;
      stream.pause();
      busy.then(() => void (isStopped || stream.resume()), failed);
    } catch (error) {
      failed(error);
    }
  };
  stream.on("data", (chunk: Buffer) => {
    stopWaiting();
    guarded(() => reader.push(chunk));
  });
  stream.once("end", () => {
    // A reset stream ends as well; "close" reports it.
    if (stream.closed || isStopped) return;
    guarded(() => {
      reader.end();
      intake.halfClosed();
      return undefined;
    });
  });
  return stop;
}

function limitReason(error: unknown): LimitReason | undefined {
  return error instanceof ConnectError && error.code === Code.ResourceExhausted ? "request_size" : undefined;
}
