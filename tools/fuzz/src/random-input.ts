import { uniformInt } from "pure-rand/distribution/uniformInt";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";
import type { Target } from "./target.js";

const defaultMaxLength = 4096;
const maxMutations = 6;
/** Values at the edges of integers, lengths and varints. */
const edges = [0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff];

/** Derives inputs of a target from its seeds. Equal seeds of randomness give equal inputs. */
export class RandomInputs {
  readonly #maxLength: number;
  readonly #sources: Uint8Array[];
  readonly #dictionary: readonly Uint8Array[];
  readonly #generator: ReturnType<typeof xoroshiro128plus>;

  /** @param corpus inputs that failed before, used like seeds */
  constructor(target: Target, seed: number, corpus: readonly Uint8Array[] = []) {
    this.#maxLength = target.maxLength ?? defaultMaxLength;
    this.#sources = [...target.seeds, ...corpus, new Uint8Array()];
    this.#dictionary = target.dictionary ?? [];
    this.#generator = xoroshiro128plus(seed);
  }

  next(): Uint8Array {
    if (this.#below(50) === 0) return this.#bytes(this.#below(Math.min(64, this.#maxLength) + 1));
    let input: Uint8Array = Uint8Array.from(this.#source());
    for (let left = 1 + this.#below(maxMutations); left > 0; left--) input = this.#mutate(input);
    return input.length > this.#maxLength ? input.subarray(0, this.#maxLength) : input;
  }

  #mutate(input: Uint8Array): Uint8Array {
    const at = this.#below(input.length + 1);
    switch (this.#below(9)) {
      case 0:
        return replaced(input, at, 1, [(input[at] ?? 0) ^ (1 << this.#below(8))]);
      case 1:
        return replaced(input, at, 1, [edges[this.#below(edges.length)] ?? 0]);
      case 2:
        return replaced(input, at, this.#length(input), []);
      case 3:
        return replaced(input, at, 0, this.#bytes(1 + this.#below(8)));
      case 4:
        return replaced(input, at, 0, input.subarray(at, at + this.#length(input)));
      case 5:
        return this.#spliced(input, at);
      case 6:
        return this.#withWord(input, at);
      case 7:
        return input.subarray(0, at);
      default:
        return replaced(input, at, 1, [((input[at] ?? 0) + this.#below(35) - 17) & 0xff]);
    }
  }

  /** Replaces the rest by a part of another source. */
  #spliced(input: Uint8Array, at: number): Uint8Array {
    const other = this.#source();
    const from = this.#below(other.length + 1);
    return replaced(input, at, input.length, other.subarray(from));
  }

  #withWord(input: Uint8Array, at: number): Uint8Array {
    const word = this.#dictionary[this.#below(Math.max(1, this.#dictionary.length))];
    return word === undefined
      ? replaced(input, at, 4, this.#bytes(4))
      : replaced(input, at, this.#below(2) === 0 ? 0 : word.length, word);
  }

  #source(): Uint8Array {
    return this.#sources[this.#below(this.#sources.length)] ?? new Uint8Array();
  }

  #length(input: Uint8Array): number {
    return 1 + this.#below(Math.max(1, Math.min(256, input.length)));
  }

  #bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.#below(256));
  }

  #below(limit: number): number {
    return uniformInt(this.#generator, 0, limit - 1);
  }
}

function replaced(input: Uint8Array, at: number, count: number, by: ArrayLike<number>): Uint8Array {
  const rest = input.subarray(Math.min(input.length, at + count));
  const result = new Uint8Array(at + by.length + rest.length);
  result.set(input.subarray(0, at));
  result.set(by, at);
  result.set(rest, at + by.length);
  return result;
}
