import type { XdsRequest } from "../wire/request.js";
import { tooMuch } from "./request-limits.js";

/**
 * The types that a client requests and the source does not serve. The first request of each, and every further one that
 * is neither an ACK nor a NACK, is answered with an empty response.
 */
export class UnservedTypes {
  /** The number of empty responses that are due, by type URL. */
  readonly #pending = new Map<string, number>();
  readonly #max: number;

  /** @param max number of types */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Counts a request.
   *
   * @throws ConnectError `ResourceExhausted` if the client requests too many types
   */
  addRequest({ typeUrl, responseNonce }: XdsRequest): void {
    const pending = this.#pending.get(typeUrl);
    if (pending === undefined && this.#pending.size >= this.#max)
      throw tooMuch(`more than ${this.#max} unknown resource types`);
    this.#pending.set(typeUrl, (pending ?? 0) + (responseNonce === "" ? 1 : 0));
  }

  /** Reports whether an empty response is due. */
  get due(): boolean {
    for (const pending of this.#pending.values()) if (pending > 0) return true;
    return false;
  }

  /** Takes the type URL of the next empty response that is due. */
  next(): string | undefined {
    for (const [typeUrl, pending] of this.#pending) {
      if (pending === 0) continue;
      this.#pending.set(typeUrl, pending - 1);
      return typeUrl;
    }
    return undefined;
  }
}
