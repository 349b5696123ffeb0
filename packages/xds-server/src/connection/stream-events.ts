import type { Carried, Variant, XdsEvent } from "../events.js";
import type { XdsResponse } from "../protocol/ads-stream.js";
import type { Receipt } from "../protocol/receipt.js";
import type { Peer } from "../source.js";
import { countOf } from "../wire/body-cache.js";

/** Tells the observer of a server what happens on one admitted stream. */
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

  connected(peer: Peer): void {
    this.#observe({ kind: "connect", ...this.#of, peer });
  }

  /** @param cause what was thrown, if it ended by that */
  disconnected(reason: string, connectedMs: number, cause: unknown): void {
    this.#observe({ kind: "disconnect", ...this.#of, reason, connectedMs, ...(cause !== undefined && { cause }) });
  }

  /** @param bytes of the request, if the transport knows them */
  requested({ typeUrl, stale, ack, nack, carried }: Receipt, bytes: number | undefined): void {
    this.#observe({ kind: "request", ...this.#of, typeUrl, stale, ...(bytes !== undefined && { bytes }) });
    if (ack) this.#observe({ kind: "ack", ...this.#of, typeUrl, ...ack, carried: carried ?? nothing });
    if (nack) this.#observe({ kind: "nack", ...this.#of, typeUrl, error: nack, ...(carried && { carried }) });
  }

  /** A response was handed to the transport: one that the protocol made. */
  pushed(
    { typeUrl, nonce, version, selection, due, revision, changes, startedAt, buildMs }: XdsResponse,
    bytes: number,
    encodingMs: number,
  ): void {
    this.#observe({
      kind: "push",
      ...this.#of,
      typeUrl,
      reason: due.reason,
      nonce,
      version,
      ...(revision !== undefined && { revision }),
      changes,
      resources: countOf(selection),
      removed: selection.removed.length,
      bytes,
      queueMs: Math.max(0, startedAt - due.since),
      buildMs: buildMs + encodingMs,
    });
  }

  /** A response of a type that is not watched was handed to the transport. */
  answered(typeUrl: string, nonce: string, resources: number, bytes: number): void {
    this.#observe({
      kind: "push",
      ...this.#of,
      typeUrl,
      reason: "request",
      nonce,
      version: "",
      changes: [],
      resources,
      removed: 0,
      bytes,
      queueMs: 0,
      buildMs: 0,
    });
  }

  turn(turn: { readonly changes: readonly number[]; readonly queueMs: number }): void {
    this.#observe({ kind: "turn", ...this.#of, ...turn });
  }

  served(served: { readonly responses: number; readonly bytes: number; readonly sinceMs: number }): void {
    this.#observe({ kind: "served", ...this.#of, ...served });
  }

  sent(afterMs: number): void {
    this.#observe({ kind: "sent", ...this.#of, afterMs });
  }

  failed(typeUrl: string, error: unknown): void {
    this.#observe({ kind: "failure", ...this.#of, typeUrl, error });
  }

  get #of(): { connection: string; nodeId: string; variant: Variant } {
    return { connection: this.#connection, nodeId: this.#nodeId, variant: this.#variant };
  }
}

const nothing: Carried = { resources: [], removed: [] };
