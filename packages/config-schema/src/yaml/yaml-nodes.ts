import { isAlias, isCollection, isNode, isPair, isScalar, visit, type Document, type Scalar } from "yaml";
import { describe } from "../decoding/fields.js";
import type { FieldPath } from "../decoding/report.js";

/** Returns the offset in the text at which the deepest existing part of a path begins. */
export function offsetOf(document: Document, path: FieldPath): number {
  let node: unknown = document.contents;
  let offset = document.contents?.range?.[0] ?? 0;
  for (const part of path) {
    if (!isCollection(node)) break;
    const { next, start } = child(node.items, part);
    if (start === undefined) break;
    offset = start;
    node = next;
  }
  return offset;
}

/** Returns the source of the plain scalar at a path, such as `y` for true; undefined for any other node. */
export function wordAt(document: Document, path: FieldPath): string | undefined {
  let node: unknown = document.contents;
  for (const part of path) node = isCollection(node) ? child(node.items, part).next : undefined;
  return isScalar(node) && node.type === "PLAIN" ? node.source : undefined;
}

/** Returns a duplicate key as written, with the offset of the first one. */
export function duplicateOf(
  document: Document,
  offset: number,
): { readonly key: string; readonly firstOffset: number } | undefined {
  let found: { readonly key: string; readonly firstOffset: number } | undefined;
  visit(document, {
    Map(_, map) {
      const keys = map.items.map(({ key }) => key).filter(isScalar);
      const repeated = keys.find(({ range }) => range?.[0] === offset);
      const first = repeated && keys.find(({ value }) => value === repeated.value);
      if (!repeated || !first || first === repeated) return undefined;
      found = {
        key:
          display(repeated) +
          (display(first) === display(repeated) ? "" : `, which means the same as ${display(first)},`),
        firstOffset: first.range?.[0] ?? 0,
      };
      return visit.BREAK;
    },
  });
  return found;
}

/** Returns the first value that JSON does not have: a key that is not text, or a number that is infinite or none. */
export function noJsonFault(document: Document): { readonly message: string; readonly offset: number } | undefined {
  let found: { readonly message: string; readonly offset: number } | undefined;
  const fail = (node: unknown, message: string): symbol => {
    found = { message, offset: (isNode(node) ? node.range?.[0] : undefined) ?? 0 };
    return visit.BREAK;
  };
  visit(document, {
    Pair(_, { key }) {
      const target = isAlias(key) ? key.resolve(document) : key;
      if (isCollection(target)) return fail(key, "a list or a mapping is a key, expected text");
      if (target === null || (isScalar(target) && target.value === null))
        return fail(key, "a key is null, expected text");
      return undefined;
    },
    Scalar(position, node) {
      const infinite = typeof node.value === "number" && !Number.isFinite(node.value);
      return infinite && position !== "key"
        ? fail(node, "a number is infinite or none, which JSON does not have")
        : undefined;
    },
  });
  return found;
}

function display(key: Scalar): string {
  return describe(key.source ?? String(key.value));
}

function child(items: readonly unknown[], part: string | number): { next: unknown; start: number | undefined } {
  if (typeof part === "number") {
    const next = items[part];
    return { next, start: isNode(next) ? next.range?.[0] : undefined };
  }
  for (const item of items) {
    if (isPair(item) && isScalar(item.key) && String(item.key.value) === part)
      return { next: item.value, start: item.key.range?.[0] };
  }
  return { next: undefined, start: undefined };
}
