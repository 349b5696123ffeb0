import { Code } from "@connectrpc/connect";
import type { Node } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { Carried, Variant, XdsEvent } from "../events.js";
import type { XdsResponse } from "../protocol/ads-stream.js";
import type { Receipt } from "../protocol/receipt.js";
import type { Peer } from "../source.js";
import { countOf } from "../wire/body-cache.js";
import type { PushSummary } from "./push-timer.js";

/** Reports the events of one admitted stream to the server's observer. */
export class StreamEvents {
  readonly #observe: (event: XdsEvent) => void;
  readonly #connection: string;
  readonly #nodeId: string;
  readonly #variant: Variant;

  /** @param connection `<node id>-<counter>` */
  constructor(observe: (event: XdsEvent) => void, connection: string, nodeId: string, variant: Variant) {
    this.#observe = observe;
    this.#connection = connection;
    this.#nodeId = nodeId;
    this.#variant = variant;
  }

  connected(node: Node, peer: Peer): void {
    this.#observe({ kind: "connect", ...this.#stream, node, peer });
  }

  /**
   * @param code of the status that the server ended the stream with, if it is an error
   * @param cause the internal error that ended the stream, if any
   */
  disconnected(reason: string, connectedMs: number, code: Code | undefined, cause: unknown): void {
    this.#observe({
      kind: "disconnect",
      ...this.#stream,
      reason,
      connectedMs,
      ...(code !== undefined && { code: Code[code] }),
      ...(cause !== undefined && { cause }),
    });
  }

  /** @param bytes length of the encoded request, if known */
  requested({ typeUrl, stale, ack, nack, isRetry, carried }: Receipt, bytes: number | undefined): void {
    this.#observe({ kind: "request", ...this.#stream, typeUrl, stale, ...(bytes !== undefined && { bytes }) });
    if (ack) this.#observe({ kind: "ack", ...this.#stream, typeUrl, ...ack, carried: carried ?? nothing });
    const more = { ...(isRetry && { isRetry }), ...(carried && { carried }) };
    if (nack) this.#observe({ kind: "nack", ...this.#stream, typeUrl, error: nack, ...more });
  }

  /** Reports a response to a subscription. */
  pushed(response: XdsResponse, bytes: number, encodingMs: number): void {
    const { typeUrl, nonce, version, selection, trigger, shown, isRetry, startedAt, buildMs } = response;
    this.#observe({
      kind: "push",
      ...this.#stream,
      typeUrl,
      reason: trigger.reason,
      nonce,
      version,
      ...shown,
      resources: countOf(selection),
      removed: selection.removed.length,
      ...(isRetry && { isRetry }),
      bytes,
      queueMs: Math.max(0, startedAt - trigger.since),
      buildMs: buildMs + encodingMs,
    });
  }

  /** Reports a request of a type that the source does not serve. */
  ignored(typeUrl: string): void {
    this.#observe({ kind: "ignored", ...this.#stream, typeUrl });
  }

  /** Reports the response to an on-demand request. */
  answered(typeUrl: string, nonce: string, resources: number, bytes: number): void {
    const content = { nonce, version: "", changes: [], resources, removed: 0, bytes, queueMs: 0, buildMs: 0 };
    this.#observe({ kind: "push", ...this.#stream, typeUrl, reason: "request", ...content });
  }

  pushStarted(changes: readonly number[], queueMs: number): void {
    this.#observe({ kind: "pushStart", ...this.#stream, changes, queueMs });
  }

  pushFinished(summary: PushSummary): void {
    this.#observe({ kind: "pushEnd", ...this.#stream, ...summary });
  }

  sent(afterMs: number): void {
    this.#observe({ kind: "sent", ...this.#stream, afterMs });
  }

  failed(typeUrl: string, error: unknown): void {
    this.#observe({ kind: "failure", ...this.#stream, typeUrl, error });
  }

  get #stream(): { connection: string; nodeId: string; variant: Variant } {
    return { connection: this.#connection, nodeId: this.#nodeId, variant: this.#variant };
  }
}

const nothing: Carried = { resources: [], removed: [] };
