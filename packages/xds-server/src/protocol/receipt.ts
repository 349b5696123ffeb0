import type { Clock } from "../clock.js";
import type { Rejection } from "../events.js";
import type { Selection } from "../wire/body-cache.js";
import type { XdsRequest } from "../wire/request.js";
import { mentionsName } from "./mentions.js";
import type { TypeState } from "./type-state.js";
import type { SentResponse } from "./unanswered-responses.js";

/** What a request turned out to be, beside what it asks for. */
export interface Receipt {
  readonly typeUrl: string;
  readonly stale: boolean;
  readonly ack?: {
    readonly nonce: string;
    readonly version: string;
    readonly revision?: number;
    readonly afterMs: number;
    readonly sinceMs: number;
  };
  readonly nack?: Rejection;
  /** What the response carried that it answers, if it is the first answer to it. */
  readonly carried?: Selection;
}

/** Takes from a request what it answers, and keeps it. */
export function receive(type: TypeState, { responseNonce, errorDetail }: XdsRequest, clock: Clock): Receipt {
  const { typeUrl, last } = type;
  const stale = responseNonce !== "" && last !== undefined && responseNonce !== last.nonce;
  const answered = responseNonce === "" ? undefined : type.unanswered.answer(responseNonce);
  if (errorDetail !== undefined) {
    const nack = rejection(responseNonce, errorDetail, answered, clock.now());
    type.lastError = nack;
    return { typeUrl, stale, nack, ...(answered && { carried: answered.selection }) };
  }
  if (answered === undefined) return { typeUrl, stale };
  const { nonce, version, at, revision, due } = answered;
  type.nonceAcked = nonce;
  type.versionAcked = version;
  type.lastError = undefined;
  const afterMs = clock.now() - at;
  return {
    typeUrl,
    stale,
    carried: answered.selection,
    ack: { nonce, version, ...(revision !== undefined && { revision }), afterMs, sinceMs: afterMs + at - due.since },
  };
}

function rejection(
  nonce: string,
  { code, message }: { code: number; message: string },
  answered: SentResponse | undefined,
  at: number,
): Rejection {
  const carried = answered?.selection.resources ?? [];
  const refused = carried.filter(({ name }) => carried.length === 1 || mentionsName(message, name));
  return {
    nonce,
    version: answered?.version ?? "",
    code,
    message,
    resources: refused.map(({ name }) => name),
    versions: Object.fromEntries(refused.map(({ name, version }) => [name, version])),
    at,
    ...(answered?.revision !== undefined && { revision: answered.revision }),
  };
}
