import { resourceKey } from "../storage/store.js";
import type { ServedType, TypeInVersion } from "./served-type.js";

/** The types that the server serves now. */
export class TypeRegistry {
  readonly #types = new Map<string, ServedType>();
  readonly #removed = new Map<string, Set<() => void>>();

  constructor(types: readonly ServedType[]) {
    for (const type of types) this.set(type);
  }

  get all(): readonly ServedType[] {
    return [...this.#types.values()];
  }

  /** Adds a type, or replaces its definition. */
  set(type: ServedType): void {
    this.#types.set(resourceKey(type), type);
  }

  /** Removes a type and calls the listeners of `onRemoved`. */
  remove(type: Pick<ServedType, "group" | "plural">): void {
    const key = resourceKey(type);
    this.#types.delete(key);
    for (const listener of this.#removed.get(key) ?? []) listener();
    this.#removed.delete(key);
  }

  byKey(key: string): ServedType | undefined {
    return this.#types.get(key);
  }

  find(group: string, version: string, plural: string): TypeInVersion | undefined {
    const type = this.#types.get(resourceKey({ group, plural }));
    const served = type?.versions.find(({ name }) => name === version);
    return type === undefined || served === undefined ? undefined : { type, version: served };
  }

  byKind(group: string, version: string, kind: string): TypeInVersion | undefined {
    for (const type of this.#types.values()) {
      if (type.group !== group || type.kind !== kind) continue;
      const served = type.versions.find(({ name }) => name === version);
      if (served !== undefined) return { type, version: served };
    }
    return undefined;
  }

  hasGroupVersion(group: string, version: string): boolean {
    return this.all.some((type) => type.group === group && type.versions.some(({ name }) => name === version));
  }

  /** Calls `listener` when the type is removed, until the returned function is called. */
  onRemoved(type: Pick<ServedType, "group" | "plural">, listener: () => void): () => void {
    const key = resourceKey(type);
    let listeners = this.#removed.get(key);
    if (listeners === undefined) this.#removed.set(key, (listeners = new Set()));
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }
}
