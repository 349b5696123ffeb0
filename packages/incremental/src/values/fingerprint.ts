/** The default budget in parts of a value: most values that differ do so near their beginning. */
export const shallowBudget = 48;
/** The largest budget, for values that differ only near their end. */
export const deepestBudget = shallowBudget * 64;
/** Characters at each end of a string that are mixed with the default budget. */
const shallowEnds = 8;

let left = 0;
let ends = shallowEnds;

/**
 * Returns a 32-bit hash of a value: equal for structurally equal values, and mostly different otherwise. For an
 * instance of a class with an `equals` method it is what the instance's `fingerprint()` returns, or 0, meaning unknown,
 * if it has none. Otherwise visits at most `budget` parts of the value; hashes with different budgets cannot be
 * compared.
 */
export function fingerprint(value: unknown, budget: number = shallowBudget): number {
  if (typeof value === "object" && value !== null && "equals" in value) {
    return "fingerprint" in value && typeof value.fingerprint === "function" ? Number(value.fingerprint()) | 0 : 0;
  }
  left = budget;
  ends = (shallowEnds * budget) / shallowBudget;
  const hash = mix(17, value);
  return hash === 0 ? 1 : hash;
}

function mix(hash: number, value: unknown): number {
  if (left-- <= 0) return hash;
  switch (typeof value) {
    case "string":
      return mixText(hash, value);
    case "number":
      return step(hash, value | 0) ^ (Number.isInteger(value) ? 0 : Math.round((value * 65_521) % 2 ** 31) | 0);
    case "boolean":
      return step(hash, value ? 3 : 5);
    case "bigint":
      return step(hash, Number(BigInt.asIntN(32, value)));
    case "object":
      return value === null ? step(hash, 7) : mixObject(hash, value);
    default:
      return step(hash, 11);
  }
}

function step(hash: number, value: number): number {
  return (Math.imul(hash, 31) + value) | 0;
}

function mixText(hash: number, text: string): number {
  const length = text.length;
  hash = step(hash, length);
  const head = Math.min(length, ends);
  for (let i = 0; i < head; i++) hash = step(hash, text.charCodeAt(i));
  for (let i = Math.max(head, length - ends); i < length; i++) hash = step(hash, text.charCodeAt(i));
  return hash;
}

function mixObject(hash: number, object: object): number {
  if (Array.isArray(object)) return mixItems(step(hash, object.length), object);
  if (object instanceof Uint8Array) return mixBytes(hash, object);
  if (object instanceof Map) return mixItems(step(hash, object.size), object.keys());
  if (object instanceof Set) return mixItems(step(hash, object.size), object);
  if (object instanceof Error) return mixText(hash, object.message);
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null && !("$typeName" in object)) return step(hash, 13);
  for (const name of Object.keys(object)) {
    hash = mix(mixText(hash, name), (object as Record<string, unknown>)[name]);
    if (left <= 0) break;
  }
  return hash;
}

function mixItems(hash: number, items: Iterable<unknown>): number {
  for (const item of items) {
    if (left <= 0) break;
    hash = mix(hash, item);
  }
  return hash;
}

function mixBytes(hash: number, bytes: Uint8Array): number {
  const length = bytes.length;
  hash = step(hash, length);
  const stride = Math.max(1, Math.floor(length / (4 * ends)));
  for (let i = 0; i < length; i += stride) hash = step(hash, bytes[i] as number);
  return hash;
}
