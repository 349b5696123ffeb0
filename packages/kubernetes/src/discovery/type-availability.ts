import { apiVersionOf, type ResourceType } from "../resource-type.js";

/**
 * The types that a server serves, for those who follow objects of a type that it does not serve: they wait until it
 * does, instead of asking again and again. A type without a CustomResourceDefinition is noticed by the next reading of
 * discovery: with `ServedTypes`, within ten minutes.
 */
export class TypeAvailability {
  /** Undefined: not known yet. */
  #served: ReadonlySet<string> | undefined;
  #unknown: ReadonlySet<string> = new Set();
  readonly #waiting = new Map<() => void, ResourceType>();

  /** Sets the types that are served, and the API versions of which that is not known, as `ServedTypes` reports them. */
  update(types: readonly ResourceType[], unknown: ReadonlySet<string>): void {
    this.#served = new Set(types.map(idOf));
    this.#unknown = unknown;
    for (const [resolve, type] of this.#waiting) {
      if (!this.#isAbsent(type)) resolve();
    }
  }

  /**
   * Returns a promise that resolves when the server begins to serve a type, or the signal aborts. Undefined: the type
   * is served, or it is not known whether it is.
   */
  whenServed(type: ResourceType, signal: AbortSignal): Promise<void> | undefined {
    if (signal.aborted || !this.#isAbsent(type)) return undefined;
    return new Promise((resolve) => {
      const end = (): void => {
        this.#waiting.delete(end);
        signal.removeEventListener("abort", end);
        resolve();
      };
      this.#waiting.set(end, type);
      signal.addEventListener("abort", end);
    });
  }

  #isAbsent(type: ResourceType): boolean {
    return this.#served?.has(idOf(type)) === false && !this.#unknown.has(apiVersionOf(type));
  }
}

const idOf = (type: ResourceType): string => `${apiVersionOf(type)}/${type.plural}`;
