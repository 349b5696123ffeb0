import type { Answer } from "../source.js";
import type { XdsRequest } from "../wire/request.js";

/** Asks the handlers for a response; undefined for types that are subscribed to. */
export type AnswerOf = (typeUrl: string, names: Iterable<string>) => Answer | Promise<Answer> | undefined;

/** On-demand types on one stream: each request is answered once, without a subscription. */
export class OnDemandTypes {
  readonly #answerOf: AnswerOf;
  readonly #nonceOf: (number: number) => string;
  #answers = 0;
  /** Names of the last answered request by type, joined. */
  readonly #answered = new Map<string, string>();

  constructor(answerOf: AnswerOf, nonceOf: (number: number) => string) {
    this.#answerOf = answerOf;
    this.#nonceOf = nonceOf;
  }

  /**
   * Handles a request if its type is on-demand; returns undefined otherwise. The answer is undefined for an ACK that
   * requests nothing else.
   */
  request({
    typeUrl,
    responseNonce,
    names,
  }: XdsRequest): { readonly answer: Answer | Promise<Answer> | undefined } | undefined {
    const previous = this.#answered.get(typeUrl);
    const requested = previous === undefined ? undefined : [...names].join("\n");
    const repeats = requested === "" || requested === previous;
    if (previous !== undefined && responseNonce !== "" && repeats) return { answer: undefined };
    const answer = this.#answerOf(typeUrl, names);
    if (answer === undefined) return undefined;
    this.#answered.set(typeUrl, requested ?? [...names].join("\n"));
    return { answer };
  }

  /** Returns the nonce of the next response. */
  nextNonce(): string {
    return this.#nonceOf(++this.#answers);
  }
}
