import type { Rejection } from "../events.js";
import type { Selection } from "../wire/body-cache.js";
import type { Sliced } from "../sliced.js";
import type { XdsRequest } from "../wire/request.js";
import { reject, type RejectionContext } from "./rejection.js";
import type { TypeState } from "./type-state.js";
import type { SentResponse } from "./unanswered-responses.js";

/** The ACK or NACK in a request. */
export interface Receipt {
  readonly typeUrl: string;
  readonly stale: boolean;
  readonly ack?: Acknowledgement;
  readonly nack?: Rejection;
  /** Set if the answered response sent resources of a rejected response again. */
  readonly isRetry?: true;
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
export function* receive(
  type: TypeState,
  { responseNonce, errorDetail }: XdsRequest,
  context: RejectionContext,
): Sliced<Receipt> {
  const { typeUrl, last } = type;
  const stale = responseNonce !== "" && last !== undefined && responseNonce !== last.nonce;
  const responses = responseNonce === "" ? [] : type.unanswered.answer(responseNonce);
  const answered = responses.at(-1);
  for (const { nonce } of type.doubts === undefined ? [] : responses)
    type.doubts?.answered(nonce, errorDetail === undefined);
  if (errorDetail !== undefined) {
    const nack = yield* reject(type, responseNonce, errorDetail, responses, context);
    type.lastError = nack;
    const isRetry = answered?.isRetry === true && { isRetry: true as const };
    return { typeUrl, stale, nack, ...isRetry, ...(answered && { carried: answered.selection }) };
  }
  if (answered === undefined) return { typeUrl, stale };
  type.nonceAcked = answered.nonce;
  type.versionAcked = answered.version;
  if (type.doubts !== undefined) yield* settle(type, responses);
  if (answered.set !== undefined) type.acknowledged = answered.set;
  if (type.doubts?.hasRejected !== true) type.lastError = undefined;
  return { typeUrl, stale, carried: answered.selection, ack: acknowledgement(answered, context.now) };
}

/** Records that the client has the resources of acknowledged responses. */
function* settle(type: TypeState, responses: readonly SentResponse[]): Sliced<void> {
  for (const { selection, set } of responses)
    if (set !== undefined && type.doubts !== undefined) yield* type.doubts.accept(selection, set, type.unanswered);
  if (type.doubts?.isEmpty === true) type.doubts = undefined;
}

function acknowledgement({ nonce, version, shown, at, trigger }: SentResponse, now: number): Acknowledgement {
  return { nonce, version, ...revisionOf(shown), afterMs: now - at, sinceMs: now - trigger.since };
}

function revisionOf({ revision }: { readonly revision?: number }): { readonly revision?: number } {
  return revision === undefined ? {} : { revision };
}
