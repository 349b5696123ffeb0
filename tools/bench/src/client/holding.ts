import type { Variant } from "@istiod/xds-server";
import { encodeRequest } from "@istiod/xds-server/testing";
import type { Content, Entry } from "./content.js";

/** Rules for applying a response of a type. */
export interface Taking {
  /** Removes resources that are not in the response: clusters and listeners in state of the world. */
  readonly isFull: boolean;
  /** Names that are asked for; others are ignored. Undefined: all are. */
  readonly wanted: ReadonlySet<string> | undefined;
}

/**
 * The resources of one type that proxies hold. Immutable: the result of applying a response is computed once, and
 * thousands of proxies that receive the same responses share the same object.
 */
export class Holding {
  static readonly nothing = new Holding(new Map(), new Set());
  readonly entries: ReadonlyMap<string, Entry>;
  /** All names of another type that the resources refer to: the same set for as long as it has the same names. */
  readonly references: ReadonlySet<string>;
  readonly #after = new WeakMap<Content, WeakMap<object, Holding>>();
  readonly #only = new WeakMap<ReadonlySet<string>, Holding>();
  #versions: Uint8Array | undefined;

  private constructor(entries: ReadonlyMap<string, Entry>, before: ReadonlySet<string>) {
    this.entries = entries;
    const references = new Set([...entries.values()].flatMap(({ refersTo }) => refersTo));
    this.references =
      references.size === before.size && [...references].every((name) => before.has(name)) ? before : references;
  }

  /** This, after a response. */
  after(content: Content, { isFull, wanted }: Taking): Holding {
    const key = wanted ?? everything;
    let next = this.#after.get(content);
    if (next === undefined) this.#after.set(content, (next = new WeakMap()));
    let found = next.get(key);
    if (found === undefined) {
      const entries = new Map(isFull ? [] : this.entries);
      for (const entry of content.entries) if (wanted?.has(entry.name) !== false) entries.set(entry.name, entry);
      for (const name of content.removed) entries.delete(name);
      next.set(key, (found = new Holding(entries, this.references)));
    }
    return found;
  }

  /** This, without what is not wanted any more. */
  only(wanted: ReadonlySet<string>): Holding {
    let found = this.#only.get(wanted);
    if (found === undefined) {
      const left = [...this.entries].filter(([name]) => wanted.has(name));
      found = left.length === this.entries.size ? this : new Holding(new Map(left), this.references);
      this.#only.set(wanted, found);
    }
    return found;
  }

  /** The part of a delta request that tells the versions of all this. */
  get encodedVersions(): Uint8Array {
    return (this.#versions ??= encodeRequest("delta", {
      typeUrl: "",
      initialVersions: [...this.entries].map(([name, { version }]) => [name, version] as const),
    }));
  }
}

/** Stands for the absence of a set of names among weak keys. */
const everything = {};

const encoded = {
  delta: new WeakMap<ReadonlySet<string>, Uint8Array>(),
  sotw: new WeakMap<ReadonlySet<string>, Uint8Array>(),
};

/** The part of a request that lists names. */
export function encodedNames(variant: Variant, names: ReadonlySet<string>): Uint8Array {
  let found = encoded[variant].get(names);
  if (found === undefined) encoded[variant].set(names, (found = encodeRequest(variant, { typeUrl: "", names })));
  return found;
}

interface Difference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

const differences = new WeakMap<ReadonlySet<string>, WeakMap<ReadonlySet<string>, Difference>>();

/** Names that came and went from one set to the next. */
export function difference(before: ReadonlySet<string>, after: ReadonlySet<string>): Difference {
  let from = differences.get(before);
  if (from === undefined) differences.set(before, (from = new WeakMap()));
  let found = from.get(after);
  if (found === undefined)
    from.set(
      after,
      (found = {
        added: [...after].filter((name) => !before.has(name)),
        removed: [...before].filter((name) => !after.has(name)),
      }),
    );
  return found;
}
