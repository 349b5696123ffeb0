import { isCollection, isMap, isPair, isScalar, isSeq, Scalar, type Document, type Node } from "yaml";

/**
 * Rewrites mappings with an empty value in flow collections to plain scalars that end with a colon, and removes the
 * errors that they caused. Kubernetes' YAML reader treats a colon before `,`, `]` or `}` as part of a plain scalar, so
 * that `[2001:db8::]` holds an address; YAML 1.2 treats it as a mapping.
 */
export function restoreTrailingColons(document: Document, text: string): void {
  if (/:[,\]}]/.test(text)) restore(document.contents, document, text);
}

function restore(node: unknown, document: Document, text: string): void {
  if (!isCollection(node)) return;
  for (const [i, item] of node.items.entries()) {
    const value = isPair(item) ? item.value : item;
    const scalar = node.flow === true ? scalarWithColon(value, text) : undefined;
    if (scalar === undefined) {
      restore(value, document, text);
      continue;
    }
    if (isPair(item)) item.value = scalar;
    else if (isSeq(node)) node.items[i] = scalar;
    const [from, to] = scalar.range ?? [0, 0];
    document.errors = document.errors.filter(({ pos }) => pos[0] < from || pos[0] > to);
  }
}

function scalarWithColon(node: unknown, text: string): Scalar | undefined {
  if (!isMap(node) || node.items.length !== 1 || text[node.range?.[0] ?? 0] === "{") return undefined;
  const pair = node.items[0];
  const key: unknown = pair?.key;
  if (!isScalar(key) || key.type !== "PLAIN" || typeof key.source !== "string" || !isEmpty(pair?.value))
    return undefined;
  const from = key.range?.[0] ?? 0;
  const to = from + key.source.length;
  if (!/^:[,\]}]/.test(text.slice(to, to + 2))) return undefined;
  const scalar = new Scalar(`${key.source}:`);
  scalar.range = [from, to + 1, to + 1];
  return scalar;
}

function isEmpty(value: unknown): boolean {
  return (
    value === null ||
    value === undefined ||
    (isScalar(value) && value.value === null && ((value as Node).range?.[0] ?? 0) >= ((value as Node).range?.[1] ?? 0))
  );
}
