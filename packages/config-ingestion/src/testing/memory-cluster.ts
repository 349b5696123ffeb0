import { apiVersionOf, type ResourceType } from "@istiod/kubernetes";
import type {
  ClusterReader,
  ObjectEvent,
  ObjectVersion,
  ServedHandler,
  WatchHandler,
  WatchState,
  WatchTarget,
} from "../kubernetes/cluster-reader.js";

type Fields = Record<string, unknown>;

type Stored = ObjectVersion;

interface Watch {
  readonly target: WatchTarget;
  readonly handler: WatchHandler;
  /** Versions that the handler knows, by `ns/name`. */
  readonly known: Map<string, Stored>;
  hasSynced: boolean;
  /** The state that was reported last. */
  state: WatchState | undefined;
}

const synced: WatchState = { phase: "synced" };

/** A cluster in memory whose connection a test controls. Nothing is reported until `sync` or `connect` is called. */
export class MemoryCluster implements ClusterReader {
  readonly #objects = new Map<string, Map<string, Stored>>();
  readonly #watches = new Set<Watch>();
  readonly #faults = new Map<string, WatchState>();
  #types: readonly ResourceType[] = [];
  #unknown: ReadonlySet<string> = new Set();
  #served: ServedHandler | undefined;
  #isConnected = false;
  #version = 0;

  /** The targets that are watched. */
  get targets(): readonly WatchTarget[] {
    return [...this.#watches].map(({ target }) => target);
  }

  /**
   * Serves these types, and no others. Objects of types that are not served any more are deleted.
   *
   * @param unknown API versions whose types cannot be read. Default: none
   */
  serve(types: readonly ResourceType[], unknown: ReadonlySet<string> = new Set()): void {
    this.#types = types;
    this.#unknown = unknown;
    const names = new Set(types.map(nameOf));
    for (const name of this.#objects.keys()) if (!names.has(name)) this.#objects.delete(name);
    if (this.#isConnected) this.#served?.served(types, unknown);
  }

  /** Creates or replaces an object, whose metadata gets a new version. */
  set(document: Fields): void {
    const type = this.#typeOf(document);
    const metadata = document["metadata"] as Fields;
    const namespace = type.namespaced ? String(metadata["namespace"] ?? "default") : "";
    const name = String(metadata["name"]);
    const objects = this.#objects.get(nameOf(type)) ?? new Map<string, Stored>();
    this.#objects.set(nameOf(type), objects);
    const resourceVersion = `${++this.#version}`;
    const uid = objects.get(`${namespace}/${name}`)?.uid ?? `uid-${resourceVersion}`;
    const identity = { uid, resourceVersion, ...(type.namespaced && { namespace }) };
    const object = { ...document, metadata: { ...metadata, ...identity } };
    objects.set(`${namespace}/${name}`, { namespace, name, uid, resourceVersion, object });
    this.#report();
  }

  delete(document: Fields): void {
    const type = this.#typeOf(document);
    const metadata = document["metadata"] as Fields;
    const namespace = type.namespaced ? String(metadata["namespace"] ?? "default") : "";
    this.#objects.get(nameOf(type))?.delete(`${namespace}/${String(metadata["name"])}`);
    this.#report();
  }

  /** Connects: everything is listed, and changes are reported from now on. */
  connect(): void {
    this.#isConnected = true;
    this.#served?.served(this.#types, this.#unknown);
    this.#report();
  }

  /** Interrupts the connection. What changes meanwhile is reported when it is connected again. */
  disconnect(since: number, error: Error): void {
    this.#isConnected = false;
    for (const watch of this.#watches)
      reportState(watch, watch.hasSynced ? { phase: "stale", since, error } : { phase: "syncing", error });
  }

  /** Reports a state for a kind instead of its objects. Undefined: reports them again. */
  fail(kind: string, state: WatchState | undefined): void {
    if (state === undefined) this.#faults.delete(kind);
    else this.#faults.set(kind, state);
    this.#report();
  }

  followServed(handler: ServedHandler): () => void {
    this.#served = handler;
    if (this.#isConnected) handler.served(this.#types, this.#unknown);
    return () => (this.#served = undefined);
  }

  watch(target: WatchTarget, handler: WatchHandler): () => void {
    const watch: Watch = { target, handler, known: new Map(), hasSynced: false, state: undefined };
    this.#watches.add(watch);
    queueMicrotask(() => this.#reportTo(watch));
    return () => this.#watches.delete(watch);
  }

  async list(target: Omit<WatchTarget, "fields">): Promise<readonly ObjectVersion[]> {
    if (!this.#isConnected) throw new Error("the cluster is disconnected");
    const name = /(?:^|,)metadata\.name=(.*)$/.exec(target.fieldSelector ?? "")?.[1];
    return [...this.#selected(target).values()].filter((stored) => name === undefined || stored.name === name);
  }

  #report(): void {
    for (const watch of this.#watches) this.#reportTo(watch);
  }

  #reportTo(watch: Watch): void {
    if (!this.#isConnected || !this.#watches.has(watch)) return;
    const { target, handler, known } = watch;
    const fault = this.#faults.get(target.resource.kind);
    if (fault !== undefined) {
      reportState(watch, fault);
      return;
    }
    const events = changesOf(known, this.#selected(target), apiVersionOf(target.resource));
    if (events.length > 0) handler.events(events);
    watch.hasSynced = true;
    reportState(watch, synced);
  }

  #selected({ resource, namespace }: Omit<WatchTarget, "fields">): ReadonlyMap<string, Stored> {
    const all = this.#objects.get(nameOf(resource)) ?? new Map<string, Stored>();
    if (namespace === undefined) return all;
    return new Map([...all].filter(([, stored]) => stored.namespace === namespace));
  }

  #typeOf({ apiVersion, kind }: Fields): ResourceType {
    const group = String(apiVersion).includes("/") ? String(apiVersion).split("/")[0] : "";
    const type = this.#types.find((served) => served.kind === kind && served.group === group);
    if (type === undefined) throw new Error(`${String(apiVersion)} ${String(kind)} is not served`);
    return type;
  }
}

/** Reports a state, unless it is the one that was reported last. */
function reportState(watch: Watch, state: WatchState): void {
  if (watch.state === state) return;
  watch.state = state;
  watch.handler.state(state);
}

/** Updates the known versions, and returns the events between them and the objects. */
function changesOf(
  known: Map<string, Stored>,
  objects: ReadonlyMap<string, Stored>,
  apiVersion: string,
): ObjectEvent[] {
  const events: ObjectEvent[] = [];
  for (const [id, { namespace, name, uid }] of [...known]) {
    if (objects.get(id)?.uid === uid) continue;
    known.delete(id);
    events.push({ type: "delete", namespace, name });
  }
  for (const [id, stored] of objects) {
    if (known.get(id)?.resourceVersion === stored.resourceVersion) continue;
    known.set(id, stored);
    events.push({ type: "set", ...stored, object: { ...stored.object, apiVersion } });
  }
  return events;
}

/** The name of a type's CustomResourceDefinition: versions share their objects. */
function nameOf({ plural, group }: ResourceType): string {
  return `${plural}.${group}`;
}
