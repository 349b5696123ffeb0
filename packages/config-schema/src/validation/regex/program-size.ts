import { RE2JS } from "re2js";
import { flattenedSize, type Node } from "./flattened-size.js";
import { type ByteRange, utf8Sequences } from "./utf8-ranges.js";

/** Encoding of the strings that a program matches. Envoy 1.40 has Latin-1, earlier versions UTF-8. */
export type Encoding = "latin1" | "utf8";

/** An instruction of re2js, whose programs have one for each class of characters, not for each range of bytes. */
interface Instruction {
  readonly op: number;
  readonly runes: ArrayLike<number> & object;
  readonly out: number;
  readonly arg: number;
}

interface Program {
  readonly inst: readonly Instruction[];
  readonly start: number;
}

const alternative = 1;
const failure = 5;
const match = 6;
const empty = 7;
const firstRuneOperation = 8;
const anyRune = 10;
const anyRuneButNewline = 11;

/** RE2 copies a shared instruction that gets another successor: at most half of a class, as measured with RE2. */
const sharingMargin = 1.75;

/** Instructions that every program has: failure, the match, and the loop before an unanchored match. */
const constantSize = 6;

/**
 * Returns an upper bound of the size of RE2's program for a pattern, which Envoy compares with
 * `re2.max_program_size.error_level`. RE2 matches bytes: a class of characters takes an instruction for each range of
 * bytes.
 *
 * @param encodings of which the one with the largest program counts
 * @param limit a size above which the exact bound does not matter: it may be infinite
 * @throws Error if the pattern is not in RE2's syntax
 */
export function maxProgramSize(pattern: string, encodings: readonly Encoding[], limit: number): number {
  const programs = new Map<string, Program>();
  let size = 0;
  for (const encoding of encodings) {
    const text = encoding === "latin1" ? Buffer.from(pattern, "utf8").toString("latin1") : pattern;
    for (const form of [text, separateAlternatives(text)]) {
      const program = programs.get(form) ?? (RE2JS.compile(form).re2().prog as Program);
      programs.set(form, program);
      size = Math.max(size, sizeOf(program, encoding, limit));
      if (size > limit) return size;
    }
  }
  return size;
}

/**
 * Returns a pattern whose alternatives re2js does not merge into one class of characters, as RE2 may not either. Within
 * a class and within quotes the result differs in a few characters.
 */
function separateAlternatives(pattern: string): string {
  return pattern.replaceAll("|", "|(?:)");
}

function sizeOf(program: Program, encoding: Encoding, limit: number): number {
  const classes = new Map<string, number>();
  const sizes = new WeakMap<object, number>();
  const nodes = program.inst.map(({ op, runes, out, arg }): Node => {
    if (op === alternative) return { successors: [out, arg] };
    if (op === empty) return { successors: [out] };
    if (op === match || op === failure) return { successors: [], leaf: 1 };
    if (op < firstRuneOperation) return { successors: [out], leaf: 1 };
    const size = sizes.get(runes) ?? classSize(op, runes, encoding, classes);
    sizes.set(runes, size);
    return { successors: [out], leaf: size };
  });
  const linear = nodes.reduce((sum, { leaf = 0 }) => sum + leaf, constantSize);
  return linear > limit ? linear : constantSize + flattenedSize(nodes, program.start, limit);
}

function classSize(op: number, runes: ArrayLike<number>, encoding: Encoding, known: Map<string, number>): number {
  const ranges = rangesOf(op, runes);
  const key = ranges.join();
  let size = known.get(key);
  if (size === undefined) known.set(key, (size = encoding === "latin1" ? latin1Size(ranges) : utf8Size(ranges)));
  return size;
}

function rangesOf(op: number, runes: ArrayLike<number>): readonly (readonly [low: number, high: number])[] {
  if (op === anyRune) return [[0, 0x10ffff]];
  if (op === anyRuneButNewline)
    return [
      [0, 9],
      [11, 0x10ffff],
    ];
  const [only] = Array.from(runes);
  if (runes.length === 1 && only !== undefined) return foldsOf(only);
  return Array.from({ length: runes.length / 2 }, (_, i) => [runes[2 * i] ?? 0, runes[2 * i + 1] ?? 0]);
}

/** Returns a character with its other cases, which one instruction of re2js may match too. */
function foldsOf(rune: number): readonly (readonly [low: number, high: number])[] {
  const text = String.fromCodePoint(rune);
  const cases = [text, text.toLowerCase(), text.toUpperCase()].map((t) => t.codePointAt(0) ?? rune);
  return [...new Set([...cases, ...(rare.get(rune) ?? [])])].map((r) => [r, r]);
}

/** Characters with a third case outside of ASCII, which simple conversions do not give. */
const rare: ReadonlyMap<number, readonly number[]> = new Map([
  [0x4b, [0x212a]],
  [0x6b, [0x212a]],
  [0x53, [0x17f]],
  [0x73, [0x17f]],
]);

function latin1Size(ranges: readonly (readonly [number, number])[]): number {
  return Math.max(1, ranges.filter(([low]) => low <= 0xff).length);
}

/**
 * Counts instructions as RE2 shares them: leading bytes with those of the sequence before, equal last bytes, and equal
 * ranges of bytes with equal successors.
 */
function utf8Size(ranges: readonly (readonly [number, number])[]): number {
  const shared = new Set<string>();
  let before: readonly ByteRange[] = [];
  let size = 0;
  for (const sequence of ranges.flatMap(([low, high]) => utf8Sequences(low, high))) {
    const common = commonPrefix(before, sequence);
    let next = "";
    for (let i = sequence.length - 1; i >= common; i--) {
      const { low, high } = sequence[i] ?? { low: 0, high: 0 };
      const name = `${low}-${high} ${next}`;
      const isShared = sequence.length > 1 && (i === sequence.length - 1 || (low < high && i > 0));
      if (!isShared || !shared.has(name)) size++;
      if (isShared) shared.add(name);
      next = isShared ? name : `#${size}`;
    }
    before = sequence;
  }
  return size <= 1 ? 1 : Math.ceil(size * sharingMargin);
}

/** Returns the number of leading bytes, not ranges, that two sequences share. */
function commonPrefix(before: readonly ByteRange[], sequence: readonly ByteRange[]): number {
  let at = 0;
  while (at < sequence.length - 1) {
    const [a, b] = [before[at], sequence[at]];
    if (a === undefined || b === undefined || a.low !== a.high || a.low !== b.low || a.high !== b.high) break;
    at++;
  }
  return at;
}
