import { AgentError } from "../errors.js";

/** One byte that says whether the message is compressed, four that say its length (gRPC over HTTP/2, "Length-Prefixed-Message"). */
const PREFIX = 5;

/** A message as it came over the wire. */
export interface Frame {
  /** Prefix and message, to be passed on as they are. */
  readonly bytes: Buffer;
  readonly message: Buffer;
}

/** Cuts a byte stream into gRPC messages without copying more than what a message's pieces need to be joined. */
export class FrameReader {
  #pieces: Buffer[] = [];
  #length = 0;

  /**
   * Adds bytes and gives the messages that are complete now.
   *
   * @throws AgentError `discovery` for a compressed message, as none was offered
   */
  push(bytes: Buffer): Frame[] {
    this.#pieces.push(bytes);
    this.#length += bytes.length;
    const frames: Frame[] = [];
    for (let whole = this.#takeFrame(); whole; whole = this.#takeFrame()) {
      if (whole[0] !== 0) throw new AgentError("discovery", "a compressed gRPC message came although none was offered");
      frames.push({ bytes: whole, message: whole.subarray(PREFIX) });
    }
    return frames;
  }

  #takeFrame(): Buffer | undefined {
    if (this.#length < PREFIX) return undefined;
    const head = this.#joined(PREFIX);
    const size = PREFIX + head.readUInt32BE(1);
    if (this.#length < size) return undefined;
    const whole = this.#joined(size);
    const first = this.#pieces.shift();
    if (first && first.length > size) this.#pieces.unshift(first.subarray(size));
    this.#length -= size;
    return whole;
  }

  /** The first `size` bytes in one piece. */
  #joined(size: number): Buffer {
    const [first] = this.#pieces;
    if (first && first.length >= size) return first.subarray(0, size);
    const all = Buffer.concat(this.#pieces);
    this.#pieces = [all];
    return all.subarray(0, size);
  }
}

/** A message with its prefix, not compressed. */
export function frame(message: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(PREFIX + message.length);
  bytes[0] = 0;
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, PREFIX);
  return bytes;
}
