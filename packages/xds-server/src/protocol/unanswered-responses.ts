import type { Resource, ResourceSet } from "@istiod/resources";
import type { ShownChanges } from "../attribution.js";
import type { Selection } from "../wire/body-cache.js";
import type { Trigger } from "./trigger.js";

/** A response that was handed to the transport. */
export interface LastResponse {
  readonly nonce: string;
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** A response with the state that is needed until it is answered. */
export interface SentResponse extends LastResponse {
  readonly trigger: Trigger;
  readonly shown: ShownChanges;
  readonly selection: Selection;
  /** Set if the response sends resources of a rejected response again. */
  readonly isRetry?: true;
  /**
   * The set that the client has once it has acknowledged this response and those before it. Undefined if the client has
   * started over since: then its answer says nothing about what it has.
   */
  readonly set: ResourceSet | undefined;
}

const maxUnanswered = 16;

/** The last responses of one type that the client has neither ACKed nor NACKed, oldest first. */
export class UnansweredResponses {
  #responses: SentResponse[] = [];

  get size(): number {
    return this.#responses.length;
  }

  [Symbol.iterator](): Iterator<SentResponse> {
    return this.#responses[Symbol.iterator]();
  }

  add(response: SentResponse): void {
    this.#responses.push(response);
    if (this.#responses.length > maxUnanswered) this.#responses.shift();
  }

  /**
   * Removes and returns the response with a nonce and those before it, oldest first: clients answer in order, and may
   * answer several responses at once. Returns nothing if the nonce is unknown.
   */
  answer(nonce: string): readonly SentResponse[] {
    const at = this.#responses.findIndex((response) => response.nonce === nonce);
    return this.#responses.splice(0, at + 1);
  }

  /** Marks the responses as void: the client starts over. */
  void(): void {
    this.#responses = this.#responses.map((response) => ({ ...response, set: undefined }));
  }

  /** Reports whether a response carries a resource in this version. */
  carries({ name, version }: Resource): boolean {
    return this.#responses.some(
      ({ selection, set }) => set !== undefined && finderIn(selection)(name)?.version === version,
    );
  }

  /** Returns a function that returns the resource of a name in the latest response that carries it. */
  finder(): (name: string) => Resource | undefined {
    if (this.#responses.length === 0) return () => undefined;
    const finders = this.#responses
      .filter(({ set }) => set !== undefined)
      .map(({ selection }) => finderIn(selection))
      .reverse();
    return (name) => {
      for (const find of finders) {
        const found = find(name);
        if (found !== undefined) return found;
      }
      return undefined;
    };
  }
}

/** Lists up to this length are searched, longer ones are indexed. */
const few = 4;

function finderIn({ whole, resources }: Selection): (name: string) => Resource | undefined {
  if (whole !== undefined) return (name) => whole.get(name);
  if (resources.length <= few) return (name) => resources.find((resource) => resource.name === name);
  let index: Map<string, Resource> | undefined;
  return (name) => (index ??= new Map(resources.map((resource) => [resource.name, resource]))).get(name);
}
