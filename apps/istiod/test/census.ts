import { getHeapSnapshot } from "node:v8";

/** Kinds of nodes of a heap snapshot that a program makes; others are V8's own, such as code. */
const kinds = new Set([
  "object",
  "closure",
  "string",
  "concatenated string",
  "sliced string",
  "regexp",
  "symbol",
  "bigint",
]);

interface Snapshot {
  readonly snapshot: {
    readonly meta: { readonly node_fields: readonly string[]; readonly node_types: readonly [readonly string[]] };
  };
  readonly nodes: readonly number[];
  readonly strings: readonly string[];
}

/** Numbers of reachable objects by class, and of strings, in this process. */
export async function census(): Promise<ReadonlyMap<string, number>> {
  const chunks: Buffer[] = [];
  for await (const chunk of getHeapSnapshot()) chunks.push(chunk as Buffer);
  const { snapshot, nodes, strings } = JSON.parse(Buffer.concat(chunks).toString()) as Snapshot;
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const [typeAt, nameAt] = [fields.indexOf("type"), fields.indexOf("name")];
  const counts = new Map<string, number>();
  for (let at = 0; at < nodes.length; at += fields.length) {
    const kind = types[0][nodes[at + typeAt] as number] ?? "";
    if (!kinds.has(kind)) continue;
    const of = kind === "object" ? (strings[nodes[at + nameAt] as number] ?? "") : kind;
    counts.set(of, (counts.get(of) ?? 0) + 1);
  }
  return counts;
}
