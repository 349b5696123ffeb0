import { fieldsOf, type Kind } from "@istiod/config-schema";
import type { ResourceType } from "@istiod/kubernetes";
import type { ClusterReader, WatchState } from "./cluster-reader.js";
import { KindObjects } from "./kind-objects.js";
import type { ClusterPolicies } from "../state/cluster-policies.js";

export interface WatchedKindOptions {
  readonly kind: Kind;
  readonly cluster: string;
  readonly place: string;
  readonly revision: string;
  readonly forWriting: boolean;
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  readonly reader: ClusterReader;
  /** Stored last good versions, if the kind restricts. */
  readonly policies: ClusterPolicies | undefined;
  /** Called after every change of what is read of the objects, and of the state. */
  notify(): void;
}

/** One kind of a cluster: watches its newest served version, and follows what is served. */
export class WatchedKind {
  readonly objects: KindObjects;
  readonly #options: WatchedKindOptions;
  #resource: ResourceType | undefined;
  #state: WatchState | undefined;
  #hasSynced = false;
  /** True while it is not known whether the kind is served. */
  #isAwaited = false;
  #stopWatch: () => void = () => undefined;

  constructor(options: WatchedKindOptions) {
    this.#options = options;
    this.objects = new KindObjects(options);
  }

  /** The type that is watched; undefined if the kind is not served, or ignored. */
  get resource(): ResourceType | undefined {
    return this.#resource;
  }

  get kind(): Kind {
    return this.#options.kind;
  }

  /** Namespace that is watched; undefined: all, or the kind has none. */
  get namespace(): string | undefined {
    return this.#resource?.namespaced === true ? this.#options.namespace : undefined;
  }

  /** State of the watch; undefined if there is none. */
  get state(): WatchState | undefined {
    return this.#state;
  }

  /** True if all objects are known, or were: the kind synced once, or is not served. */
  get isComplete(): boolean {
    return !this.#isAwaited && (this.#resource === undefined || this.#hasSynced);
  }

  /** Watches the given type from now on. Undefined: the kind is not served, and its objects no longer exist. */
  follow(resource: ResourceType | undefined): void {
    this.#isAwaited = false;
    const before = this.#resource;
    if (before?.version === resource?.version && before?.plural === resource?.plural) return;
    this.stop();
    this.#resource = resource;
    this.#state = undefined;
    if (resource === undefined) {
      this.#hasSynced = false;
      this.objects.clear();
      return;
    }
    this.#watch(resource);
  }

  /** Keeps everything as it is, because the server could not tell whether it serves the kind. */
  await(): void {
    this.#isAwaited = true;
  }

  stop(): void {
    this.#stopWatch();
    this.#stopWatch = () => undefined;
  }

  /**
   * Asks the server whether what is known of an object, or that it does not exist, is the latest. True for objects that
   * are not watched.
   *
   * @throws Error if the server cannot be asked
   */
  async isCurrent(namespace: string, name: string): Promise<boolean> {
    const resource = this.#resource;
    if (resource === undefined || (this.namespace ?? namespace) !== namespace) return true;
    const { kind, cluster, reader } = this.#options;
    const [latest] = await reader.list({
      resource,
      ...(resource.namespaced && { namespace }),
      fieldSelector: [kind.fieldSelector, `metadata.name=${escaped(name)}`].filter(Boolean).join(","),
    });
    return this.objects.isCurrent(kind.key({ cluster, namespace, name }), latest, resource);
  }

  #watch(resource: ResourceType): void {
    const { kind, reader, namespace, forWriting, notify } = this.#options;
    this.objects.beginSync();
    this.#state = { phase: "syncing" };
    let isSynced = false;
    this.#stopWatch = reader.watch(
      {
        resource,
        fields: fieldsOf(kind, { forWriting }),
        ...(resource.namespaced && namespace !== undefined && { namespace }),
        ...(kind.fieldSelector !== undefined && { fieldSelector: kind.fieldSelector }),
      },
      {
        events: (events) => {
          let isChanged = false;
          for (const event of events) isChanged = this.objects.apply(event, resource) || isChanged;
          if (isChanged) notify();
        },
        state: (state) => {
          this.#state = state;
          if (state.phase === "synced" && !isSynced) {
            isSynced = true;
            this.#hasSynced = true;
            this.objects.endSync();
          }
          notify();
        },
      },
    );
  }
}

/** Escapes a value of a field selector. */
function escaped(value: string): string {
  return value.replaceAll(/[\\,=]/g, "\\$&");
}
