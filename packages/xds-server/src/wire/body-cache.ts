import type { Resource, ResourceSet } from "@istiod/resources";
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

/**
 * Encodes what responses carry, once for all clients that are sent the same. What was made from a part of a set or from the
 * resources of a difference is found by their identity; beyond that, stretches that different lists have in common are encoded once.
 *
 * The most recently used bodies are kept up to a limit. Beyond it a body lives for as long as somebody holds it, as a
 * transport does while it writes, and is found while it lives.
 */
export class BodyCache {
  readonly #limit: number;
  readonly #runs = new Runs();
  readonly #kinds = new Map<string, Kind>();
  readonly #recent = new Set<Body>();
  #recentBytes = 0;

  /** @param limit bytes of bodies to keep although nobody is writing them */
  constructor(limit = 64 * 1024 * 1024) {
    this.#limit = limit;
  }

  /** The bodies of a response, in order. Whoever writes them must hold them until they are written. */
  encode(variant: Variant, typeUrl: string, selection: Selection): readonly Body[] {
    const name = `${variant} ${typeUrl}`;
    let kind = this.#kinds.get(name);
    if (kind === undefined) {
      const encode = (run: readonly Resource[]): Body => encodeResources(variant, typeUrl, run);
      this.#kinds.set(name, (kind = new Kind(this.#runs, encode)));
    }
    const { whole, removed } = selection;
    const bodies = whole === undefined ? kind.bodiesOfList(selection.resources) : kind.bodiesOfSet(whole);
    for (const body of bodies) if (body.length >= worthSharing) this.#keep(body);
    return removed.length === 0 ? bodies : [...bodies, encodeRemoved(removed)];
  }

  #keep(body: Body): void {
    if (this.#recent.delete(body)) this.#recentBytes -= body.length;
    this.#recent.add(body);
    this.#recentBytes += body.length;
    for (const oldest of this.#recent) {
      if (this.#recentBytes <= this.#limit) break;
      this.#recent.delete(oldest);
      this.#recentBytes -= oldest.length;
    }
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
    this.#byOrigin.set(origin, bodies.map((body) => new WeakRef(body)));
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
