import type { ShownChanges } from "../attribution.js";
import type { Selection } from "../wire/body-cache.js";
import type { Trigger } from "./trigger.js";

/** A response that was handed to the transport. */
export interface LastResponse {
  readonly nonce: string;
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** A response with the state that is needed until it is answered. */
export interface SentResponse extends LastResponse {
  readonly trigger: Trigger;
  readonly shown: ShownChanges;
  readonly selection: Selection;
}

const maxUnanswered = 16;

/** The last responses of one type that the client has neither ACKed nor NACKed, oldest first. */
export class UnansweredResponses {
  #responses: SentResponse[] = [];

  add(response: SentResponse): void {
    this.#responses.push(response);
    if (this.#responses.length > maxUnanswered) this.#responses.shift();
  }

  /**
   * Removes and returns the response with a nonce. Earlier responses count as answered, too, because clients answer in
   * order.
   */
  answer(nonce: string): SentResponse | undefined {
    const at = this.#responses.findIndex((response) => response.nonce === nonce);
    return at === -1 ? undefined : this.#responses.splice(0, at + 1).at(-1);
  }
}
