import type { Selection } from "../wire/body-cache.js";
import type { Trigger } from "./trigger.js";

/** A response that was handed to the transport. */
export interface LastResponse {
  readonly nonce: string;
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** The same, for as long as it is not answered. */
export interface SentResponse extends LastResponse {
  readonly due: Trigger;
  /** The revision of the source that it shows, if the source has revisions. */
  readonly revision: number | undefined;
  readonly selection: Selection;
}

/** A client that answers nothing is remembered for its last responses only. */
const kept = 16;

/** The responses of one type that a client has not answered yet, oldest first. */
export class UnansweredResponses {
  #responses: SentResponse[] = [];

  add(response: SentResponse): void {
    this.#responses.push(response);
    if (this.#responses.length > kept) this.#responses.shift();
  }

  /** Takes the response that a nonce names, and those before it: clients answer in order. Undefined if it was answered before. */
  answer(nonce: string): SentResponse | undefined {
    const at = this.#responses.findIndex((response) => response.nonce === nonce);
    return at === -1 ? undefined : this.#responses.splice(0, at + 1).at(-1);
  }
}
