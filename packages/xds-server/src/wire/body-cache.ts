import type { Resource, ResourceSet } from "@istiod/resources";
import { type Clock, systemClock } from "../clock.js";
import type { Variant } from "../events.js";
import { encodeRemoved, encodeResources, type Body } from "./body.js";
import { Runs } from "./runs.js";

/** What one response carries. */
export interface Selection {
  /** Made on demand if `whole` is present. */
  readonly resources: readonly Resource[];
  readonly removed: readonly string[];
  /** Present if the resources are exactly those of this set. */
  readonly whole?: ResourceSet;
}

/** How many resources a response carries. */
export function countOf(selection: Selection): number {
  return selection.whole?.size ?? selection.resources.length;
}

/** Below this many bytes of resources, encoding costs less than looking for an equal body. */
const worthSharing = 16 * 1024;

/** A union of more parts than this is taken as one list. */
const partsApart = 8;

/** How long, and how many, bodies are kept although nobody is writing them. */
export interface BodyRetention {
  /** Bytes of all. Default 67,108,864. */
  readonly bytes?: number;
  /** Milliseconds since one was last asked for. Default 10,000. */
  readonly ms?: number;
  readonly clock?: Clock;
}

/**
 * Encodes what responses carry, once for all clients that are sent the same. What was made from a part of a set or from the
 * resources of a difference is found by their identity; beyond that, stretches that different lists have in common are encoded once.
 *
 * The bodies that were asked for lately are kept, up to a limit: a change is pushed to a fleet within seconds, and afterwards nobody is sent the same
 * again. Beyond that a body lives for as long as somebody holds it, as a transport does while it writes, and is found while it lives.
 */
export class BodyCache {
  readonly #most: number;
  readonly #ms: number;
  readonly #clock: Clock;
  readonly #runs = new Runs();
  readonly #kinds = new Map<string, Kind>();
  /** With the moment at which each was last asked for, the oldest first. */
  readonly #recent = new Map<Body, number>();
  #bytes = 0;
  #waiting = false;

  constructor({ bytes = 64 * 1024 * 1024, ms = 10_000, clock = systemClock }: BodyRetention = {}) {
    this.#most = bytes;
    this.#ms = ms;
    this.#clock = clock;
  }

  /** Bytes of the bodies that are kept although nobody may be writing them. */
  get keptBytes(): number {
    return this.#bytes;
  }

  /** The bodies of a response, in order. Whoever writes them must hold them until they are written. */
  encode(variant: Variant, typeUrl: string, selection: Selection): readonly Body[] {
    const { whole, removed } = selection;
    const rest = removed.length === 0 ? [] : [encodeRemoved(removed)];
    // Clients ask for types of any name; nothing is kept of those that have no resources.
    if (countOf(selection) === 0) return rest;
    const name = `${variant} ${typeUrl}`;
    let kind = this.#kinds.get(name);
    if (kind === undefined) {
      const encode = (run: readonly Resource[]): Body => encodeResources(variant, typeUrl, run);
      this.#kinds.set(name, (kind = new Kind(this.#runs, encode)));
    }
    const bodies = whole === undefined ? kind.bodiesOfList(selection.resources) : kind.bodiesOfSet(whole);
    const now = this.#clock.now();
    for (const body of bodies) if (body.length >= worthSharing) this.#keep(body, now);
    return rest.length === 0 ? bodies : [...bodies, ...rest];
  }

  #keep(body: Body, now: number): void {
    if (this.#recent.delete(body)) this.#bytes -= body.length;
    this.#recent.set(body, now);
    this.#bytes += body.length;
    this.#drop((_, bytes) => bytes > this.#most);
    this.#wait(this.#ms);
  }

  /** Drops the oldest bodies, for as long as they are too old or too many. */
  #drop(isTooMuch: (usedAt: number, bytes: number) => boolean): void {
    for (const [body, usedAt] of this.#recent) {
      if (!isTooMuch(usedAt, this.#bytes)) break;
      this.#recent.delete(body);
      this.#bytes -= body.length;
    }
  }

  #wait(ms: number): void {
    if (this.#waiting) return;
    this.#waiting = true;
    this.#clock.after(ms, () => {
      this.#waiting = false;
      const until = this.#clock.now() - this.#ms;
      this.#drop((usedAt) => usedAt <= until);
      for (const usedAt of this.#recent.values()) return this.#wait(usedAt - until);
    });
  }
}

/** The bodies of one variant of one type. */
class Kind {
  readonly #runs: Runs;
  readonly #encode: (run: readonly Resource[]) => Body;
  readonly #byOrigin = new WeakMap<object, readonly WeakRef<Body>[]>();
  readonly #byRun = new Map<string, WeakRef<Body>>();
  readonly #collected = new FinalizationRegistry<string>((key) => {
    if (this.#byRun.get(key)?.deref() === undefined) this.#byRun.delete(key);
  });

  constructor(runs: Runs, encode: (run: readonly Resource[]) => Body) {
    this.#runs = runs;
    this.#encode = encode;
  }

  bodiesOfSet(set: ResourceSet): readonly Body[] {
    if (!set.isUnion || set.parts.length > partsApart) return this.#bodies(set, () => set.toArray());
    return set.parts.flatMap((part) => this.bodiesOfSet(part));
  }

  bodiesOfList(resources: readonly Resource[]): readonly Body[] {
    return this.#bodies(resources, () => resources);
  }

  /** @param origin what the resources come from, to find them again */
  #bodies(origin: object, resources: () => readonly Resource[]): readonly Body[] {
    const known = this.#byOrigin.get(origin)?.map((reference) => reference.deref());
    if (known?.every((body) => body !== undefined)) return known;
    const list = resources();
    if (!worthIt(list)) return [this.#encode(list)];
    const bodies = this.#runs.cut(list).map((run) => this.#ofRun(run.key, run.resources));
    this.#byOrigin.set(
      origin,
      bodies.map((body) => new WeakRef(body)),
    );
    return bodies;
  }

  #ofRun(key: string, resources: readonly Resource[]): Body {
    const known = this.#byRun.get(key)?.deref();
    if (known !== undefined) return known;
    const body = this.#encode(resources);
    this.#byRun.set(key, new WeakRef(body));
    this.#collected.register(body, key);
    return body;
  }
}

function worthIt(resources: readonly Resource[]): boolean {
  let bytes = 0;
  for (const resource of resources) if ((bytes += resource.bytes.length) >= worthSharing) return true;
  return false;
}
