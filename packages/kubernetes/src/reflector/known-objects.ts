import type { DecodedObject } from "../decoding/decoder.js";
import type { ReflectorEvent } from "./reflector-event.js";

interface Known {
  uid: string;
  resourceVersion: string;
  /** Number of the last complete list, or of the list in progress, that has the object. */
  list: number;
}

/** Versions of the reported objects, without the objects: yields the events between them and a list or watch. */
export class KnownObjects {
  readonly #known = new Map<string, Known>();
  #list = 0;

  get size(): number {
    return this.#known.size;
  }

  /** Begins a list. Objects that are not set until its end no longer exist. */
  beginList(): void {
    this.#list++;
  }

  /** Appends the events for an object that exists. */
  set(decoded: DecodedObject, events: ReflectorEvent<Record<string, unknown>>[]): void {
    const { namespace, name, uid, resourceVersion, object } = decoded;
    const key = `${namespace}/${name}`;
    const known = this.#known.get(key);
    if (known !== undefined) {
      known.list = this.#list;
      if (known.uid === uid && known.resourceVersion === resourceVersion) return;
      if (known.uid !== uid) events.push({ type: "delete", namespace, name, uid: known.uid });
      known.uid = uid;
      known.resourceVersion = resourceVersion;
    } else this.#known.set(key, { uid, resourceVersion, list: this.#list });
    events.push({ type: "set", namespace, name, uid, resourceVersion, object });
  }

  /** Appends the event for an object that was deleted. */
  delete({ namespace, name, uid }: DecodedObject, events: ReflectorEvent<Record<string, unknown>>[]): void {
    const key = `${namespace}/${name}`;
    // An object of another uid is a later one, or was never reported.
    if (this.#known.get(key)?.uid !== uid) return;
    this.#known.delete(key);
    events.push({ type: "delete", namespace, name, uid });
  }

  /** Ends a complete list, and appends the deletions of objects that it did not have. */
  endList(events: ReflectorEvent<Record<string, unknown>>[]): void {
    for (const [key, { uid, list }] of this.#known) {
      if (list === this.#list) continue;
      this.#known.delete(key);
      const slash = key.indexOf("/");
      events.push({ type: "delete", namespace: key.slice(0, slash), name: key.slice(slash + 1), uid });
    }
  }
}
