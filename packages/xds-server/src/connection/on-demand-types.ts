import { tooMuch } from "../protocol/request-limits.js";
import type { Answer } from "../source.js";
import type { Digest } from "../wire/digest.js";
import type { XdsRequest } from "../wire/request.js";

/** Asks the handlers for a response; undefined for types that are subscribed to. */
export type AnswerOf = (typeUrl: string, names: Iterable<string>) => Answer | Promise<Answer> | undefined;

/** On-demand types on one stream: each request is answered once, without a subscription. */
export class OnDemandTypes {
  readonly #answerOf: AnswerOf;
  readonly #nonceOf: (number: number) => string;
  readonly #maxTypes: number;
  #answers = 0;
  /** Digest of the names of the last answered request by type. */
  readonly #answered = new Map<string, Digest>();

  constructor(answerOf: AnswerOf, nonceOf: (number: number) => string, maxTypes: number) {
    this.#answerOf = answerOf;
    this.#nonceOf = nonceOf;
    this.#maxTypes = maxTypes;
  }

  /**
   * Handles a request if its type is on-demand; returns undefined otherwise. The answer is undefined for an ACK that
   * requests nothing else.
   *
   * @throws ConnectError `ResourceExhausted` if the stream exceeds the maximum number of types
   */
  request({
    typeUrl,
    responseNonce,
    names,
  }: XdsRequest): { readonly answer: Answer | Promise<Answer> | undefined } | undefined {
    const previous = this.#answered.get(typeUrl);
    const repeats = previous !== undefined && (names.size === 0 || names.digest.equals(previous));
    if (responseNonce !== "" && repeats) return { answer: undefined };
    const answer = this.#answerOf(typeUrl, names);
    if (answer === undefined) return undefined;
    if (previous === undefined && this.#answered.size >= this.#maxTypes) {
      Promise.resolve(answer).catch(() => undefined);
      throw tooMuch(`more than ${this.#maxTypes} on-demand types`);
    }
    this.#answered.set(typeUrl, names.digest);
    return { answer };
  }

  /** Returns the nonce of the next response. */
  nextNonce(): string {
    return this.#nonceOf(++this.#answers);
  }
}
