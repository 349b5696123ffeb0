import { type Resource, type ResourceSet, sizeOf } from "@istiod/resources";
import { type Clock, monotonicClock } from "@istiod/runtime";
import type { Variant } from "../events.js";
import { encodeRemoved, encodeResources, type Body } from "./body.js";
import { sliceNames, type Sliced } from "../sliced.js";
import { Chunker } from "./chunker.js";

/** The content of a response. */
export interface Selection {
  /** Computed on access if `whole` is present. */
  readonly resources: readonly Resource[];
  readonly removed: readonly string[];
  /** Set if the resources are exactly those of this set. */
  readonly whole?: ResourceSet;
}

/** Returns the number of resources in a response. */
export function countOf(selection: Selection): number {
  return selection.whole?.size ?? selection.resources.length;
}

/** Below this size, encoding costs less than looking for an equal body. */
const minSharedBytes = 16 * 1024;

/** Bytes that are encoded at a time. */
const sliceBytes = 1024 * 1024;

/** A union of more parts than this is encoded as one list. */
const maxParts = 8;

/** Options of the cache, and limits of the bodies that are kept when no transport references them. */
export interface BodyCacheOptions {
  /** Total bytes. Default 67,108,864. */
  readonly bytes?: number;
  /** Milliseconds since last use. Default 10,000. */
  readonly ms?: number;
  readonly clock?: Clock;
  /** Returns the type URL of the messages of a type. Default: the type itself. */
  readonly messageType?: (typeUrl: string) => string;
}

/**
 * Encodes the bodies of responses, once for all clients that receive the same resources. Bodies of set parts and of
 * differences are found by identity; chunks that are common to different lists are encoded once.
 *
 * Recently used bodies are kept up to a limit, because a change is pushed to a fleet within seconds. Other bodies are
 * referenced weakly: they are found for as long as a transport is writing them.
 */
export class BodyCache {
  readonly #maxBytes: number;
  readonly #ms: number;
  readonly #clock: Clock;
  readonly #messageType: (typeUrl: string) => string;
  readonly #chunker = new Chunker();
  readonly #types = new Map<string, TypeBodies>();
  /** Time of last use by body, least recently used first. */
  readonly #recent = new Map<Body, number>();
  #bytes = 0;
  #evictionScheduled = false;

  constructor({
    bytes = 64 * 1024 * 1024,
    ms = 10_000,
    clock = monotonicClock,
    messageType = (typeUrl) => typeUrl,
  }: BodyCacheOptions = {}) {
    this.#messageType = messageType;
    this.#maxBytes = bytes;
    this.#ms = ms;
    this.#clock = clock;
  }

  /** Total bytes of the kept bodies. */
  get keptBytes(): number {
    return this.#bytes;
  }

  /** Returns the bodies of a response in order. The caller must reference them until they are written. */
  *encode(variant: Variant, typeUrl: string, selection: Selection): Sliced<readonly Body[]> {
    const { whole, removed } = selection;
    const rest = yield* bodiesOfRemoved(removed);
    // Clients may request any type URL: keep no state for types without resources.
    if (countOf(selection) === 0) return rest;
    const name = `${variant} ${typeUrl}`;
    let type = this.#types.get(name);
    if (type === undefined) {
      const messageType = this.#messageType(typeUrl);
      const encode = (chunk: readonly Resource[]): Body => encodeResources(variant, messageType, chunk);
      this.#types.set(name, (type = new TypeBodies(this.#chunker, encode)));
    }
    const bodies = yield* whole === undefined ? type.bodiesOfList(selection.resources) : type.bodiesOfSet(whole);
    const now = this.#clock.now();
    for (const body of bodies) if (body.length >= minSharedBytes) this.#keep(body, now);
    return rest.length === 0 ? bodies : [...bodies, ...rest];
  }

  #keep(body: Body, now: number): void {
    if (this.#recent.delete(body)) this.#bytes -= body.length;
    this.#recent.set(body, now);
    this.#bytes += body.length;
    this.#evict((_, bytes) => bytes > this.#maxBytes);
    this.#scheduleEviction(this.#ms);
  }

  /** Evicts the least recently used bodies while the predicate holds. */
  #evict(shouldEvict: (usedAt: number, bytes: number) => boolean): void {
    for (const [body, usedAt] of this.#recent) {
      if (!shouldEvict(usedAt, this.#bytes)) break;
      this.#recent.delete(body);
      this.#bytes -= body.length;
    }
  }

  #scheduleEviction(ms: number): void {
    if (this.#evictionScheduled) return;
    this.#evictionScheduled = true;
    this.#clock.after(ms, () => {
      this.#evictionScheduled = false;
      const until = this.#clock.now() - this.#ms;
      this.#evict((usedAt) => usedAt <= until);
      for (const usedAt of this.#recent.values()) return this.#scheduleEviction(usedAt - until);
    });
  }
}

/** The bodies of one type in one variant of the protocol. */
class TypeBodies {
  readonly #chunker: Chunker;
  readonly #encode: (chunk: readonly Resource[]) => Body;
  readonly #byOrigin = new WeakMap<object, readonly WeakRef<Body>[]>();
  readonly #byChunk = new Map<string, WeakRef<Body>>();
  readonly #collected = new FinalizationRegistry<string>((key) => {
    if (this.#byChunk.get(key)?.deref() === undefined) this.#byChunk.delete(key);
  });

  constructor(chunker: Chunker, encode: (chunk: readonly Resource[]) => Body) {
    this.#chunker = chunker;
    this.#encode = encode;
  }

  *bodiesOfSet(set: ResourceSet): Sliced<readonly Body[]> {
    if (!set.isUnion || set.parts.length > maxParts) return yield* this.#bodies(set, () => set.toArray());
    const bodies: Body[] = [];
    for (const part of set.parts) bodies.push(...(yield* this.bodiesOfSet(part)));
    return bodies;
  }

  bodiesOfList(resources: readonly Resource[]): Sliced<readonly Body[]> {
    return this.#bodies(resources, () => resources);
  }

  /** @param origin object by whose identity the bodies are found again */
  *#bodies(origin: object, resources: () => readonly Resource[]): Sliced<readonly Body[]> {
    const known = this.#byOrigin.get(origin)?.map((reference) => reference.deref());
    if (known?.every((body) => body !== undefined)) return known;
    const list = resources();
    if (!isWorthSharing(list)) return [this.#encode(list)];
    const bodies: Body[] = [];
    let [encoded, bytes] = [0, 0];
    for (const { key, resources: chunk } of yield* this.#chunker.split(list)) {
      let body = this.#byChunk.get(key)?.deref();
      if (body === undefined) {
        if (bytes > sliceBytes || encoded + chunk.length > sliceNames) yield (encoded = bytes = 0);
        body = this.#encodeChunk(key, chunk);
        encoded += chunk.length;
        bytes += body.length;
      }
      bodies.push(body);
    }
    this.#byOrigin.set(
      origin,
      bodies.map((body) => new WeakRef(body)),
    );
    return bodies;
  }

  #encodeChunk(key: string, resources: readonly Resource[]): Body {
    const body = this.#encode(resources);
    this.#byChunk.set(key, new WeakRef(body));
    this.#collected.register(body, key);
    return body;
  }
}

function* bodiesOfRemoved(names: readonly string[]): Sliced<readonly Body[]> {
  const bodies: Body[] = [];
  for (let from = 0; from < names.length; from += sliceNames) {
    if (from > 0) yield 0;
    bodies.push(encodeRemoved(names.slice(from, from + sliceNames)));
  }
  return bodies;
}

/** Reports whether a list is encoded in chunks. */
function isWorthSharing(resources: readonly Resource[]): boolean {
  if (resources.length > sliceNames) return true;
  let bytes = 0;
  for (const resource of resources) if ((bytes += sizeOf(resource)) >= minSharedBytes) return true;
  return false;
}
