import type { Database } from "@istiod/incremental";
import {
  type ApiClient,
  type KubernetesObject,
  Reflector,
  type ReflectorEvent,
  type ReflectorState,
  type ResourceType,
  type TypeAvailability,
} from "@istiod/kubernetes";
import type { Clock } from "@istiod/runtime";
import { notServed, type Observed, type Watch } from "./controller.js";

export interface ObservedObjectsOptions {
  readonly client: ApiClient;
  readonly database: Pick<Database<void>, "commit" | "read">;
  readonly availability?: TypeAvailability | undefined;
  readonly clock: Clock;
  /** Called after each commit, and when the state of the watch changes. */
  readonly changed: () => void;
}

/** Milliseconds after which an object that was created, and that the watch has not reported, is treated as absent. */
const confirmationMs = 30_000;

/**
 * Keeps a collection equal to the objects of a watch. Answers to writes count as observations, so that a controller
 * does not repeat a write while its event is under way, and older events do not replace them.
 */
export class ObservedObjects {
  readonly watch: Watch;
  readonly #options: ObservedObjectsOptions;
  readonly #reflector: Reflector<KubernetesObject>;
  readonly #known = new Map<string, Pick<Observed<unknown>, "uid" | "resourceVersion">>();
  /** Created objects that the watch has not reported yet, with the function that ends the wait. */
  readonly #unconfirmed = new Map<string, () => void>();
  #hasSynced = false;

  constructor(watch: Watch, options: ObservedObjectsOptions) {
    this.watch = watch;
    this.#options = options;
    const { type, fields, namespace, fieldSelector, labelSelector } = watch;
    this.#reflector = new Reflector<KubernetesObject>({
      client: options.client,
      clock: options.clock,
      availability: options.availability,
      resource: type,
      fields: { fields },
      ...(namespace !== undefined && { namespace }),
      ...(fieldSelector !== undefined && { fieldSelector }),
      ...(labelSelector !== undefined && { labelSelector }),
      handler: { events: (events) => this.#apply(events), state: (state) => this.#onState(state) },
    });
  }

  /** True once all objects are known, or their type is not served. */
  get isComplete(): boolean {
    return this.#hasSynced;
  }

  get state(): ReflectorState {
    return this.#reflector.state;
  }

  start(): void {
    this.#reflector.start();
  }

  stop(): void {
    this.#reflector.stop();
    for (const cancel of this.#unconfirmed.values()) cancel();
  }

  /** Records the server's answer to a write of an object. */
  record(type: ResourceType, object: KubernetesObject): void {
    const { namespace = "", name, uid, resourceVersion } = object.metadata ?? {};
    const isWatched = type.kind === this.watch.type.kind && type.group === this.watch.type.group;
    if (!isWatched || name === undefined || uid === undefined || resourceVersion === undefined) return;
    const key = keyOf({ namespace, name });
    if (!this.#known.has(key) && !this.#unconfirmed.has(key)) {
      const forget = (): void => {
        this.#unconfirmed.delete(key);
        this.#commit([[key, undefined]]);
      };
      this.#unconfirmed.set(key, this.#options.clock.after(confirmationMs, forget));
    }
    if (this.#isOutdated(key, { uid, resourceVersion })) return;
    this.#commit([[key, { uid, resourceVersion, object }]]);
  }

  #apply(events: readonly ReflectorEvent<KubernetesObject>[]): void {
    const changes: [string, Parsed | undefined][] = [];
    // Several events of one object may arrive at once, and each is judged by the one before.
    for (const event of events) {
      const key = keyOf(event);
      this.#unconfirmed.get(key)?.();
      this.#unconfirmed.delete(key);
      if (event.type === "delete") {
        if (this.#known.get(key)?.uid !== event.uid) continue;
        this.#known.delete(key);
        changes.push([key, undefined]);
      } else if (!this.#isOutdated(key, event)) {
        this.#known.set(key, event);
        changes.push([key, event]);
      }
    }
    if (changes.length > 0) this.#commit(changes);
  }

  #isOutdated(key: string, { uid, resourceVersion }: Pick<Observed<unknown>, "uid" | "resourceVersion">): boolean {
    const known = this.#known.get(key);
    return known?.uid === uid && isOlder(resourceVersion, known.resourceVersion);
  }

  #commit(changes: readonly (readonly [string, Parsed | undefined])[]): void {
    const { collection } = this.watch;
    const { database } = this.#options;
    database.commit((tx) => {
      const values = new Map<string, Observed<unknown> | undefined>();
      for (const [key, parsed] of changes) {
        if (parsed === undefined) this.#known.delete(key);
        else this.#known.set(key, { uid: parsed.uid, resourceVersion: parsed.resourceVersion });
        const before = values.has(key) ? values.get(key) : database.read(collection, key);
        values.set(key, this.#valueOf(parsed, before));
      }
      for (const [key, value] of values) {
        if (value === undefined) tx.delete(collection, key);
        else tx.set(collection, key, value);
      }
    });
    this.#options.changed();
  }

  #valueOf(parsed: Parsed | undefined, before: Observed<unknown> | undefined): Observed<unknown> | undefined {
    const { select, deleted } = this.watch;
    const value = parsed ? select(parsed.object, before?.value) : before && deleted?.(before.value);
    if (value === undefined) return undefined;
    return { uid: parsed?.uid ?? "", resourceVersion: parsed?.resourceVersion ?? "", value };
  }

  #onState({ phase }: ReflectorState): void {
    // An optional type that is not served has no objects.
    if (phase === "synced" || phase === "not-served") {
      this.#hasSynced = true;
      const { group, kind } = this.watch.type;
      this.#options.database.commit((tx) => {
        if (phase === "not-served") tx.set(notServed, `${group}/${kind}`, true);
        else tx.delete(notServed, `${group}/${kind}`);
      });
    }
    this.#options.changed();
  }
}

interface Parsed {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly object: KubernetesObject;
}

function keyOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return namespace === "" ? name : `${namespace}/${name}`;
}

/** Reports whether a version is older than another. Versions that are not numbers cannot be compared. */
function isOlder(version: string, than: string): boolean {
  const isNumber = /^\d+$/;
  return isNumber.test(version) && isNumber.test(than) && BigInt(version) < BigInt(than);
}
