import type { Answer } from "../source.js";
import type { XdsRequest } from "../wire/request.js";

/** Asks the source; undefined for types that are watched. */
export type AnswerOf = (typeUrl: string, names: Iterable<string>) => Answer | Promise<Answer> | undefined;

/** What is asked on one stream of types that are answered each time, and not watched. */
export class UnwatchedTypes {
  readonly #answerOf: AnswerOf | undefined;
  readonly #nonceOf: (number: number) => string;
  #answers = 0;
  /** What was answered last, by type. */
  readonly #asked = new Map<string, string>();

  constructor(answerOf: AnswerOf | undefined, nonceOf: (number: number) => string) {
    this.#answerOf = answerOf;
    this.#nonceOf = nonceOf;
  }

  /**
   * What a request of such a type is to be answered with; undefined if its type is watched. What only acknowledges an answer, asking for nothing else,
   * needs none.
   */
  ask({
    typeUrl,
    responseNonce,
    names,
  }: XdsRequest): { readonly answer: Answer | Promise<Answer> | undefined } | undefined {
    const before = this.#asked.get(typeUrl);
    const asked = before === undefined ? undefined : [...names].join("\n");
    if (before !== undefined && responseNonce !== "" && (asked === "" || asked === before))
      return { answer: undefined };
    const answer = this.#answerOf?.(typeUrl, names);
    if (answer === undefined) return undefined;
    this.#asked.set(typeUrl, asked ?? [...names].join("\n"));
    return { answer };
  }

  /** For the next answer. */
  nonce(): string {
    return this.#nonceOf(++this.#answers);
  }
}
