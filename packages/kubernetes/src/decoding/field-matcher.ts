import type { FieldTree } from "./projection.js";

/** A field of a compiled tree. */
export interface MatchedField {
  readonly name: string;
  /** Undefined: everything. */
  readonly fields: FieldMatcher | undefined;
}

/** A compiled tree of fields, which finds a field by the bytes of its name without allocating a string. */
export class FieldMatcher {
  readonly #byLength: (MatchedField & { readonly bytes: Buffer })[][] = [];
  readonly #byName = new Map<string, MatchedField>();

  constructor(tree: Exclude<FieldTree, true>) {
    for (const [name, subtree] of Object.entries(tree)) {
      const bytes = Buffer.from(name);
      const field = { name, bytes, fields: compileFields(subtree) };
      (this.#byLength[bytes.length] ??= []).push(field);
      this.#byName.set(name, field);
    }
  }

  find(bytes: Buffer, from: number, to: number): MatchedField | undefined {
    const candidates = this.#byLength[to - from];
    if (candidates === undefined) return undefined;
    for (const candidate of candidates) {
      if (isEqual(candidate.bytes, bytes, from)) return candidate;
    }
    return undefined;
  }

  findName(name: string): MatchedField | undefined {
    return this.#byName.get(name);
  }
}

/** Compiles a tree; undefined stands for everything. */
export function compileFields(tree: FieldTree): FieldMatcher | undefined {
  return tree === true ? undefined : new FieldMatcher(tree);
}

function isEqual(name: Buffer, bytes: Buffer, from: number): boolean {
  for (let at = 0; at < name.length; at++) if (name[at] !== bytes[from + at]) return false;
  return true;
}
