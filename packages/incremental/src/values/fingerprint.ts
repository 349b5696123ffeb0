/** Values are looked at only so far: most that differ do so near their beginning, and the cost must not grow with them. */
const budget = 48;
const ends = 8;

let left = 0;

/**
 * A number that is equal for structurally equal values and mostly differs otherwise. An instance of a class with an `equals` method is
 * asked for its own, by `fingerprint()`; 0 where it has none, so that nothing can be told. Costs at most a few dozen steps, but for that.
 */
export function fingerprint(value: unknown): number {
  if (typeof value === "object" && value !== null && "equals" in value) {
    return "fingerprint" in value && typeof value.fingerprint === "function" ? Number(value.fingerprint()) | 0 : 0;
  }
  left = budget;
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
  for (let i = 0; i < length && i < ends; i++) hash = step(hash, text.charCodeAt(i));
  for (let i = Math.max(ends, length - ends); i < length; i++) hash = step(hash, text.charCodeAt(i));
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
  const stride = Math.max(1, length >> 5);
  for (let i = 0; i < length; i += stride) hash = step(hash, bytes[i] as number);
  return hash;
}
