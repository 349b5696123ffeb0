import type { UnreadBytes } from "@istiod/runtime";
import type { Answer } from "../source.js";
import type { OnDemandTypes } from "./on-demand-types.js";
import type { ResponseWriter } from "./response-writer.js";
import type { StreamEvents } from "./stream-events.js";

interface AnsweringStream {
  readonly onDemand: OnDemandTypes;
  readonly events: StreamEvents;
}

/** Sends the answers to on-demand requests of one call, and tracks which of them the client has not read. */
export class AnswerWriter {
  readonly #writer: ResponseWriter;
  readonly #unread: UnreadBytes;
  readonly #cutOff: () => void;
  /** To call when the client has read the answers. */
  readonly #held: (() => void)[] = [];

  /** @param cutOff ends the call, whose client does not read an answer while others wait */
  constructor(writer: ResponseWriter, unread: UnreadBytes, cutOff: () => void) {
    this.#writer = writer;
    this.#unread = unread;
    this.#cutOff = cutOff;
  }

  /** Sends an answer, and resolves when the client's next request may be read: once it has read this answer. */
  async write({ onDemand, events }: AnsweringStream, typeUrl: string, answer: Answer): Promise<void> {
    const nonce = onDemand.nextNonce();
    const length = this.#writer.writeAnswer(typeUrl, nonce, answer);
    events.answered(typeUrl, nonce, answer.resources.length, length);
    this.#held.push(this.#unread.hold(length, this.#cutOff));
    await this.#writer.untilRoom();
  }

  /** Releases all answers: the client has read everything, or is gone. */
  releaseAll(): void {
    for (const read of this.#held.splice(0)) read();
  }
}
