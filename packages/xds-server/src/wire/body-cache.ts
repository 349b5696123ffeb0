import { hash } from "node:crypto";
import type { Resource, ResourceSet } from "@istiod/resources";
import type { Variant } from "../events.js";
import { encodeRemoved, encodeResources, type Body } from "./body.js";

/** What one response carries. */
export interface Selection {
  readonly resources: readonly Resource[];
  readonly removed: readonly string[];
  /** Present if the resources are exactly those of this set. */
  readonly whole?: ResourceSet;
}

/** Below this many bytes of resources, encoding costs less than looking for an equal body. */
const worthSharing = 16 * 1024;

/** A union of more parts than this is encoded as one. */
const partsApart = 8;

/**
 * Encodes what responses carry, once for all clients that are sent the same. Bodies are found by the identity of what
 * they were made from (a part of a set, the resources of a difference), and where a client's selection is its own, by its
 * content.
 *
 * The most recently used bodies are kept up to a limit. Beyond it a body lives for as long as somebody holds it, as a
 * transport does while it writes, and is found while it lives.
 */
export class BodyCache {
  readonly #limit: number;
  readonly #kinds = new Map<string, WeakMap<object, WeakRef<Body>>>();
  readonly #recent = new Set<Body>();
  #recentBytes = 0;
  readonly #byContent = new Map<string, WeakRef<readonly Resource[]>>();
  readonly #canonical = new WeakMap<readonly Resource[], readonly Resource[]>();
  readonly #collected = new FinalizationRegistry<string>((key) => {
    if (this.#byContent.get(key)?.deref() === undefined) this.#byContent.delete(key);
  });

  /** @param limit bytes of bodies to keep although nobody is writing them */
  constructor(limit = 64 * 1024 * 1024) {
    this.#limit = limit;
  }

  /** The bodies of a response, in order. Whoever writes them must hold them until they are written. */
  encode(variant: Variant, typeUrl: string, { resources, removed, whole }: Selection): readonly Body[] {
    const bodies: Body[] = [];
    if (whole === undefined) bodies.push(this.#resources(variant, typeUrl, resources));
    else if (whole.parts.length > partsApart) bodies.push(this.#body(variant, typeUrl, whole, () => [...whole]));
    else for (const part of whole.parts) bodies.push(this.#body(variant, typeUrl, part, () => [...part]));
    if (removed.length > 0) bodies.push(encodeRemoved(removed));
    return bodies;
  }

  #resources(variant: Variant, typeUrl: string, resources: readonly Resource[]): Body {
    if (!worthIt(resources)) return encodeResources(variant, typeUrl, resources);
    let canonical = this.#canonical.get(resources);
    if (canonical === undefined) this.#canonical.set(resources, (canonical = this.#sameContent(resources)));
    return this.#body(variant, typeUrl, canonical, () => resources);
  }

  /** The first list that had the same resources in the same order, if it still lives. */
  #sameContent(resources: readonly Resource[]): readonly Resource[] {
    const key = hash("sha256", resources.map(({ name, version }) => `${name}\0${version}`).join("\0"), "base64url");
    const known = this.#byContent.get(key)?.deref();
    if (known !== undefined) return known;
    this.#byContent.set(key, new WeakRef(resources));
    this.#collected.register(resources, key);
    return resources;
  }

  #body(variant: Variant, typeUrl: string, key: object, resources: () => readonly Resource[]): Body {
    const kind = `${variant} ${typeUrl}`;
    let bodies = this.#kinds.get(kind);
    if (bodies === undefined) this.#kinds.set(kind, (bodies = new WeakMap()));
    let body = bodies.get(key)?.deref();
    if (body === undefined) {
      body = encodeResources(variant, typeUrl, resources());
      bodies.set(key, new WeakRef(body));
    }
    this.#keep(body);
    return body;
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

function worthIt(resources: readonly Resource[]): boolean {
  let bytes = 0;
  for (const resource of resources) if ((bytes += resource.bytes.length) >= worthSharing) return true;
  return false;
}
