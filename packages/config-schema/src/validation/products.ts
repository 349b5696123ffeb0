import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { toBinary } from "@bufbuild/protobuf";
import { productBounds, type ProductBounds } from "../mesh/product-bounds.js";
import type { Place } from "./place.js";
import { patternCost } from "./regex/regex.js";

/** A number of elements with its name: `["hosts", 1000]`. */
export type Factor = readonly [name: string, count: number];

/**
 * Rejects lists that multiply to more than a bound in the resources of each proxy. The message has the numbers and the
 * variable that raises the bound.
 */
export function checkProduct(bound: keyof ProductBounds, unit: string, factors: readonly Factor[], place: Place): void {
  const product = factors.reduce((sum, [, count]) => sum * count, 1);
  const limit = place.bounds[bound];
  if (product <= limit) return;
  const text = factors.map(([name, count]) => `${count} ${name}`).join(" × ");
  place.error(
    `multiplies to ${text} = ${product} ${unit} in proxies, expected at most ${limit} (raise ${productBounds[bound].variable})`,
  );
}

/** Returns the encoded size of messages in bytes. */
export function encodedSize<D extends DescMessage>(schema: D, messages: readonly MessageShape<D>[]): number {
  return messages.reduce((sum, message) => sum + toBinary(schema, message).length, 0);
}

/** Bytes of a field or element besides its strings, with the messages that a well-known type adds: at most this. */
const maxFieldBytes = 40;
/** Bytes of a UTF-16 code unit in UTF-8, at most. */
const maxUnitBytes = 3;

/**
 * Returns a number of bytes that the encoding of a message, or of messages, does not exceed. It takes a fraction of the
 * time of encoding them, which few objects need.
 */
export function encodedBound(value: unknown): number {
  if (typeof value === "string") return maxFieldBytes + maxUnitBytes * value.length;
  if (typeof value !== "object" || value === null) return maxFieldBytes;
  if (value instanceof Uint8Array) return maxFieldBytes + value.length;
  let bytes = maxFieldBytes;
  if (Array.isArray(value)) for (const item of value) bytes += encodedBound(item);
  else for (const key in value) bytes += maxUnitBytes * key.length + encodedBound((value as Fields)[key]);
  return bytes;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Rejects patterns of routes that take too much memory and time in proxies, which compile each of them for each host.
 * Patterns after the bound are not read, since that takes time, too.
 *
 * @param hosts number of hosts that have the patterns
 * @returns whether they are within the bound
 */
export function checkPatterns(patterns: Iterable<string>, hosts: number, place: Place): boolean {
  const limit = place.bounds.instructions;
  let instructions = 0;
  for (const pattern of patterns) {
    instructions += patternCost(pattern);
    if (instructions * hosts <= limit) continue;
    place.error(
      `has regular expressions of at least ${instructions} instructions × ${hosts} hosts, expected at most ${limit} in all (raise ${productBounds.instructions.variable})`,
    );
    return false;
  }
  return true;
}
