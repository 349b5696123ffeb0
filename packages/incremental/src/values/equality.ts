/**
 * Reports whether two values are equal plain data: primitives by `Object.is`; arrays, typed arrays, `Map`, `Set`,
 * `Date`, errors, plain objects and protobuf-es messages by content; instances of one class by its `equals` method if
 * it has one; anything else by identity. Order matters, including that of properties, because iterating code can
 * observe it, and a kept result must equal the result of a computation from scratch byte for byte. Values must not be
 * cyclic.
 */
export function structurallyEqual(a: unknown, b: unknown): boolean {
  if (a === b) return a !== 0 || Object.is(a, b);
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a !== a && b !== b;
  if (Array.isArray(a)) return Array.isArray(b) && equalArrays(a, b);
  const prototype: unknown = Object.getPrototypeOf(a);
  if (prototype !== Object.getPrototypeOf(b)) return false;
  if (prototype === Object.prototype || prototype === null || "$typeName" in a) return equalProperties(a, b);
  if (ArrayBuffer.isView(a)) return equalBytes(a, b as ArrayBufferView);
  if (a instanceof Map) return equalMaps(a, b as ReadonlyMap<unknown, unknown>);
  if (a instanceof Set) return equalSets(a, b as ReadonlySet<unknown>);
  if (a instanceof Date) return Object.is(a.getTime(), (b as Date).getTime());
  if (a instanceof Error) return equalErrors(a, b as Error);
  return "equals" in a && typeof a.equals === "function" && a.equals(b) === true;
}

function equalArrays(a: readonly unknown[], b: readonly unknown[]): boolean {
  const length = a.length;
  if (length !== b.length) return false;
  for (let i = 0; i < length; i++) {
    const x = a[i];
    const y = b[i];
    if (x !== y ? !structurallyEqual(x, y) : x === 0 && !Object.is(x, y)) return false;
  }
  return true;
}

function equalProperties(a: object, b: object): boolean {
  const names = Object.keys(a);
  const others = Object.keys(b);
  if (names.length !== others.length) return false;
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    if (name !== others[i]) return false;
    const x = left[name];
    const y = right[name];
    if (x !== y ? !structurallyEqual(x, y) : x === 0 && !Object.is(x, y)) return false;
  }
  return true;
}

function equalBytes(a: ArrayBufferView, b: ArrayBufferView): boolean {
  const length = a.byteLength;
  if (length !== b.byteLength) return false;
  let start = 0;
  if (length >= 64 && a.byteOffset % 4 === 0 && b.byteOffset % 4 === 0) {
    const words = length >> 2;
    const x = new Int32Array(a.buffer, a.byteOffset, words);
    const y = new Int32Array(b.buffer, b.byteOffset, words);
    for (let i = 0; i < words; i++) if (x[i] !== y[i]) return false;
    start = words << 2;
  }
  const x = a instanceof Uint8Array ? a : new Uint8Array(a.buffer, a.byteOffset, length);
  const y = b instanceof Uint8Array ? b : new Uint8Array(b.buffer, b.byteOffset, length);
  for (let i = start; i < length; i++) if (x[i] !== y[i]) return false;
  return true;
}

function equalMaps(a: ReadonlyMap<unknown, unknown>, b: ReadonlyMap<unknown, unknown>): boolean {
  if (a.size !== b.size) return false;
  const others = b.entries();
  for (const [key, value] of a) {
    const other = others.next().value as [unknown, unknown];
    if (!structurallyEqual(key, other[0]) || !structurallyEqual(value, other[1])) return false;
  }
  return true;
}

function equalSets(a: ReadonlySet<unknown>, b: ReadonlySet<unknown>): boolean {
  if (a.size !== b.size) return false;
  const others = b.values();
  for (const member of a) if (!structurallyEqual(member, others.next().value)) return false;
  return true;
}

function equalErrors(a: Error, b: Error): boolean {
  return a.name === b.name && a.message === b.message && structurallyEqual(a.cause, b.cause) && equalProperties(a, b);
}
