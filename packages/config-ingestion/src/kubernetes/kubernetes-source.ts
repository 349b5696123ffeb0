import { allKinds, applyChanges, type Kind } from "@istiod/config-schema";
import { apiVersionOf, type ResourceType } from "@istiod/kubernetes";
import type { Clock } from "@istiod/runtime";
import { processClock } from "../ingestion/process-clock.js";
import type { ObjectKey, Source, SourceUpdate } from "../ingestion/source.js";
import type { SyncState } from "../ingestion/sync-state.js";
import type { Location } from "../ledger/ledger.js";
import type { RejectedPolicy } from "../ledger/stored-versions.js";
import { ClusterPolicies, type PolicyIdentity } from "../state/cluster-policies.js";
import type { ClusterReader } from "./cluster-reader.js";
import type { ObjectMetadata } from "./object-metadata.js";
import { isIgnoredResource, type ResourceFilter } from "./resource-filter.js";
import { newestServed } from "./served-version.js";
import { SyncTracker } from "./sync-tracker.js";
import { WatchedKind } from "./watched-kind.js";

export interface KubernetesSourceOptions {
  /** ID of the cluster. */
  readonly cluster: string;
  readonly reader: ClusterReader;
  /** Kinds to read. Default: all. Use `remoteKinds` for clusters that do not hold the mesh's configuration. */
  readonly kinds?: readonly Kind[];
  /** As `DecodeOptions.revision`. */
  readonly revision?: string;
  /** Namespace to which watches are limited (`ISTIO_WATCH_NAMESPACE`). Default: all. */
  readonly namespace?: string;
  /** Custom resources that are not read. Default: all are. */
  readonly resources?: ResourceFilter;
  /** Directory of the last good versions of policies, which replicas may share. Default: they are kept in memory. */
  readonly stateDirectory?: string;
  /** Reports whether the objects of a kind are written, so that what a writer needs is kept of them. Default: none. */
  forWriting?(kind: Kind): boolean;
  readonly clock?: Clock;
}

/**
 * The objects of a cluster, by its API server. It has synced when every kind has. A kind that is not served has no
 * objects. What cannot be read for a while stays as it was: only a complete list removes objects, or the API server
 * when it no longer serves a kind.
 *
 * Problems have the name of the cluster in place of a file.
 */
export class KubernetesSource implements Source {
  readonly name: string;
  readonly cluster: string;
  readonly #options: KubernetesSourceOptions;
  readonly #kinds: readonly WatchedKind[];
  readonly #sync: SyncTracker;
  readonly #policies: ClusterPolicies | undefined;
  #hasRemovedGone = false;
  /** Custom resources, `plural.group`, that are not read because they are ignored, by kind. */
  #ignored: ReadonlyMap<Kind, string> = new Map();
  #notify: () => void = () => undefined;
  #stopServed: () => void = () => undefined;
  #synced: () => void = () => undefined;

  constructor(options: KubernetesSourceOptions) {
    const { cluster, reader, kinds = allKinds, revision = "", namespace, clock = processClock } = options;
    this.cluster = cluster;
    this.name = `cluster ${cluster}`;
    this.#options = options;
    const directory = options.stateDirectory;
    this.#policies = directory === undefined ? undefined : new ClusterPolicies({ directory, cluster, revision, clock });
    this.#kinds = kinds.map(
      (kind) =>
        new WatchedKind({
          kind,
          cluster,
          place: this.name,
          revision,
          forWriting: options.forWriting?.(kind) ?? false,
          namespace: namespace || undefined,
          reader,
          policies: kind.failClosed && this.#policies,
          notify: () => this.#onChange(),
        }),
    );
    this.#sync = new SyncTracker(this.#kinds, clock);
  }

  async start(changed: () => void): Promise<void> {
    this.#notify = changed;
    await this.#policies?.start(() => this.#notify());
    await new Promise<void>((resolve) => {
      this.#synced = resolve;
      this.#stopServed = this.#options.reader.followServed({
        served: (types, unknown) => this.#onServed(types, unknown),
        failed: (error) => {
          this.#sync.servedFailed(error);
          this.#onChange();
        },
      });
    });
  }

  async read(): Promise<SourceUpdate> {
    if (this.#policies !== undefined) await this.#storePolicies(this.#policies);
    const changes = this.#kinds.flatMap(({ objects }) => objects.takeChanges());
    const problems = this.#kinds.flatMap(({ objects }) => objects.problems());
    return {
      apply: (tx) => applyChanges(tx, changes),
      problems: [...problems, ...(this.#policies?.problems() ?? [])],
    };
  }

  syncState(): SyncState {
    return this.#sync.state();
  }

  locate(kind: Kind, key: string): Location | undefined {
    const isDefined = this.#kindNamed(kind)?.objects.has(key) === true;
    return isDefined ? { file: this.name, line: 0, path: [] } : undefined;
  }

  async isCurrent(kind: Kind, { namespace, name }: ObjectKey): Promise<boolean> {
    return (await this.#kindNamed(kind)?.isCurrent(namespace, name)) ?? true;
  }

  reasonUnread(kind: Kind): string | undefined {
    const watched = this.#kindNamed(kind);
    if (watched === undefined || watched.resource !== undefined) return undefined;
    const ignored = this.#ignored.get(kind);
    if (ignored !== undefined) return `PILOT_IGNORE_RESOURCES and PILOT_INCLUDE_RESOURCES exclude ${ignored}`;
    return this.#options.reader.reasonUnread?.(kind);
  }

  /** Returns what a writer of an object needs, by its kind and its key; undefined if the object does not exist. */
  metadata(kind: Kind, key: string): ObjectMetadata | undefined {
    return this.#kindNamed(kind)?.objects.metadata(key);
  }

  /** Returns the names of the custom resources that are not read because they are ignored. */
  ignoredResources(): readonly string[] {
    return [...this.#ignored.values()].sort();
  }

  /** Returns the rejected objects of kinds that restrict, with what applies instead. */
  rejectedPolicies(): readonly RejectedPolicy[] {
    return this.#kinds.flatMap(({ objects }) => [...objects.rejectedPolicies()]);
  }

  stop(): void {
    this.#notify = () => undefined;
    this.#stopServed();
    this.#policies?.stop();
    for (const kind of this.#kinds) kind.stop();
  }

  /** Stores the policies that were accepted, before they apply, and decides about rejected ones by what is stored. */
  async #storePolicies(policies: ClusterPolicies): Promise<void> {
    const kinds = this.#kinds.filter(({ kind }) => kind.failClosed !== undefined);
    const reconsider = (): void => kinds.forEach(({ objects }) => objects.reconsiderRejected());
    if ((policies.isPending || this.rejectedPolicies().length > 0) && (await policies.refresh())) reconsider();
    if (!this.#hasRemovedGone && this.#sync.state().state === "synced") {
      this.#hasRemovedGone = true;
      await policies.removeGone((content, version) => this.#isGone(content, version));
    }
    while (policies.isPending) {
      await policies.store();
      reconsider();
    }
  }

  /** Reports whether the API server no longer has an object: what was read is newer, and lacks it. */
  #isGone(
    { kind, key, uid }: Pick<PolicyIdentity, "kind" | "key"> & { readonly uid: string | undefined },
    version: bigint,
  ): boolean {
    const watched = this.#kindNamed(kind);
    if (watched?.resource === undefined || !watched.objects.isBeyond(version)) return false;
    if (watched.namespace !== undefined && !key.startsWith(`${watched.namespace}/`)) return false;
    return watched.objects.metadata(key)?.uid !== uid;
  }

  #kindNamed(kind: Kind): WatchedKind | undefined {
    return this.#kinds.find((watched) => watched.kind === kind);
  }

  #onServed(types: readonly ResourceType[], unknown: ReadonlySet<string> = new Set()): void {
    this.#sync.servedKnown();
    const isIgnored = (type: ResourceType): boolean => isIgnoredResource(this.#options.resources ?? {}, type);
    const read = types.filter((type) => !isIgnored(type));
    this.#ignored = new Map(
      this.#kinds.flatMap(({ kind }) => {
        const ignored = newestServed(kind, types.filter(isIgnored));
        return ignored === undefined ? [] : [[kind, `${ignored.plural}.${ignored.group}`] as const];
      }),
    );
    const missing = new Set<string>();
    for (const watched of this.#kinds) {
      const { group, versions } = watched.kind;
      const resource = newestServed(watched.kind, read);
      const apiVersions = versions.map((version) => apiVersionOf({ group, version }));
      const unread = resource === undefined ? apiVersions.filter((version) => unknown.has(version)) : [];
      if (unread.length === 0) watched.follow(resource);
      else watched.await();
      for (const version of unread) missing.add(version);
    }
    if (missing.size > 0) this.#sync.servedFailed(new Error(`${[...missing].join(", ")} cannot be read`));
    this.#onChange();
  }

  #onChange(): void {
    if (this.#sync.update()) this.#synced();
    this.#notify();
  }
}
