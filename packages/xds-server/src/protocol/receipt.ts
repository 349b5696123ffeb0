import type { Clock } from "@istiod/settings";
import type { Rejection } from "../events.js";
import type { Selection } from "../wire/body-cache.js";
import { filtered, type Sliced } from "../sliced.js";
import type { XdsRequest } from "../wire/request.js";
import { mentionsName } from "./mentions.js";
import type { TypeState } from "./type-state.js";
import type { SentResponse } from "./unanswered-responses.js";

/** The ACK or NACK in a request. */
export interface Receipt {
  readonly typeUrl: string;
  readonly stale: boolean;
  readonly ack?: Acknowledgement;
  readonly nack?: Rejection;
  /** Content of the answered response, if this is the first answer to it. */
  readonly carried?: Selection;
}

interface Acknowledgement {
  readonly nonce: string;
  readonly version: string;
  readonly revision?: number;
  /** Milliseconds since the response was sent, and since the event that triggered it. */
  readonly afterMs: number;
  readonly sinceMs: number;
}

/** Records the ACK or NACK of a request in the state of its type. */
export function* receive(type: TypeState, { responseNonce, errorDetail }: XdsRequest, clock: Clock): Sliced<Receipt> {
  const { typeUrl, last } = type;
  const stale = responseNonce !== "" && last !== undefined && responseNonce !== last.nonce;
  const answered = responseNonce === "" ? undefined : type.unanswered.answer(responseNonce);
  if (errorDetail !== undefined) {
    const nack = yield* rejection(responseNonce, errorDetail, answered, clock.now());
    type.lastError = nack;
    return { typeUrl, stale, nack, ...(answered && { carried: answered.selection }) };
  }
  if (answered === undefined) return { typeUrl, stale };
  type.nonceAcked = answered.nonce;
  type.versionAcked = answered.version;
  type.lastError = undefined;
  return { typeUrl, stale, carried: answered.selection, ack: acknowledgement(answered, clock.now()) };
}

function acknowledgement({ nonce, version, shown, at, trigger }: SentResponse, now: number): Acknowledgement {
  return { nonce, version, ...revisionOf(shown), afterMs: now - at, sinceMs: now - trigger.since };
}

function* rejection(
  nonce: string,
  { code, message }: { code: number; message: string },
  answered: SentResponse | undefined,
  at: number,
): Sliced<Rejection> {
  const carried = answered?.selection.resources ?? [];
  const rejected = yield* filtered(carried, ({ name }) => carried.length === 1 || mentionsName(message, name));
  return {
    nonce,
    version: answered?.version ?? "",
    code,
    message,
    resources: rejected.map(({ name }) => name),
    versions: Object.fromEntries(rejected.map(({ name, version }) => [name, version])),
    at,
    ...(answered && revisionOf(answered.shown)),
  };
}

function revisionOf({ revision }: { readonly revision?: number }): { readonly revision?: number } {
  return revision === undefined ? {} : { revision };
}
