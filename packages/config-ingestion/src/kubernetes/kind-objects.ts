import {
  type ConfigObject,
  type LocatedObject,
  type ObjectChange,
  type ObjectOfOtherRevision,
  otherRevisionOf,
  type OtherRevisionChange,
  type Problem,
} from "@istiod/config-schema";
import { structurallyEqual } from "@istiod/incremental";
import type { ResourceType } from "@istiod/kubernetes";
import { decide } from "../ledger/decision.js";
import { enforcedInstead } from "../ledger/enforced-instead.js";
import type { RejectedPolicy, StoredVersion } from "../ledger/stored-versions.js";
import type { ClusterPolicies } from "../state/cluster-policies.js";
import type { ObjectEvent, ObjectVersion } from "./cluster-reader.js";
import { type DecodedObject, decodeObject, type ObjectDecoding } from "./decode-object.js";
import { metadataOf, type ObjectMetadata } from "./object-metadata.js";
import { isSameOrLater, orderOf } from "./resource-version.js";

export interface KindObjectsOptions extends ObjectDecoding {
  readonly forWriting: boolean;
  /** Stored last good versions, if the kind restricts. Default: they are kept in memory only. */
  readonly policies?: ClusterPolicies | undefined;
}

/** Stands for the object that the database has, which is the last good version. */
const current = Symbol("current");

interface Entry {
  readonly metadata: ObjectMetadata;
  /** True if an accepted version was active since the object was created. */
  readonly hasGood: boolean;
  /** True if the database has an object of the key. */
  readonly isActive: boolean;
  /** The latest version if it was accepted, which is the object that the database has. */
  readonly accepted: ConfigObject<unknown, unknown> | undefined;
  readonly rejected: Rejection | undefined;
  readonly problems: readonly Problem[];
}

/** The latest version of an object, if it was rejected. */
interface Rejection {
  readonly issues: readonly Problem[];
  /** The substitute for the case that there is no good version. */
  readonly closed: ConfigObject<unknown, unknown> | undefined;
  /** The substitute if it applies, because there is no good version. */
  readonly substitute: ConfigObject<unknown, unknown> | undefined;
  /** The stored version that is active. */
  readonly stored: StoredVersion | undefined;
}

const noProblems: readonly Problem[] = [];
const noChanges: readonly ObjectChange[] = [];

/**
 * The objects of one kind in a cluster: decodes them, and decides what applies instead of rejected ones. Of an
 * accepted object it keeps a reference, to drop events that change nothing that is read.
 */
export class KindObjects {
  readonly #options: KindObjectsOptions;
  readonly #entries = new Map<string, Entry>();
  /** Objects that are not read because they belong to other revisions. No key is also one of an entry. */
  readonly #others = new Map<string, ObjectOfOtherRevision>();
  /** Keys of the entries with problems or a rejected object, which are few. */
  readonly #troubled = new Set<string>();
  /** Changes that were not taken, by key. */
  readonly #changes = new Map<string, ObjectChange>();
  readonly #substituteChanges = new Map<string, ObjectChange>();
  readonly #otherChanges = new Map<string, OtherRevisionChange>();
  /** Objects that the current watch has not reported yet. */
  #unconfirmed: Set<string> | undefined;
  /** The newest resource version that was seen. */
  #newest = 0n;

  constructor(options: KindObjectsOptions) {
    this.#options = options;
  }

  /** Begins a watch that knows nothing of earlier ones. What it does not report until `endSync` no longer exists. */
  beginSync(): void {
    this.#unconfirmed = new Set([...this.#entries.keys(), ...this.#others.keys()]);
  }

  /** Ends the first complete list of a watch. */
  endSync(): void {
    for (const key of this.#unconfirmed ?? []) this.#delete(key);
    this.#unconfirmed = undefined;
  }

  /** Removes all objects, because the kind is no longer served. */
  clear(): void {
    for (const key of [...this.#entries.keys(), ...this.#others.keys()]) this.#delete(key);
    this.#unconfirmed = undefined;
  }

  /** Applies an event. Returns false if it changes nothing that is read, such as the renewal of a leader lock. */
  apply(event: ObjectEvent, resource: ResourceType): boolean {
    const { kind, cluster } = this.#options;
    const key = kind.key({ cluster, namespace: event.namespace, name: event.name });
    this.#unconfirmed?.delete(key);
    return event.type === "delete" ? this.#delete(key) : this.#set(key, event, resource);
  }

  /** Returns the changes since the last call. */
  takeChanges(): readonly (ObjectChange | OtherRevisionChange)[] {
    if (this.#changes.size + this.#substituteChanges.size + this.#otherChanges.size === 0) return noChanges;
    const kinds = [this.#changes, this.#substituteChanges, this.#otherChanges];
    const changes = kinds.flatMap((of): readonly (ObjectChange | OtherRevisionChange)[] => [...of.values()]);
    for (const of of kinds) of.clear();
    return changes;
  }

  /** Reports whether an object exists, also if it belongs to another revision. */
  has(key: string): boolean {
    return this.#entries.has(key) || this.#others.has(key);
  }

  metadata(key: string): ObjectMetadata | undefined {
    return this.#entries.get(key)?.metadata;
  }

  problems(): readonly Problem[] {
    if (this.#troubled.size === 0) return noProblems;
    return [...this.#troubled].flatMap((key) => this.#entries.get(key)?.problems ?? noProblems);
  }

  /** Reports whether an object of this or a later version was seen. False for kinds whose versions are not stored. */
  isBeyond(resourceVersion: bigint): boolean {
    return this.#newest >= resourceVersion;
  }

  /**
   * Reports whether an object was seen in this or a later version, or is known not to exist.
   *
   * @param latest the version that the API server has; undefined if it has none
   */
  isCurrent(key: string, latest: ObjectVersion | undefined, resource: ResourceType): boolean {
    const known = this.#entries.get(key)?.metadata.resourceVersion;
    if (latest === undefined) return known === undefined;
    if (known === undefined) return decodeObject(latest.object, resource, this.#options) === undefined;
    return isSameOrLater(known, latest.resourceVersion);
  }

  /** Decides again about rejected objects, because stored versions changed. */
  reconsiderRejected(): void {
    if (this.#options.policies === undefined) return;
    for (const key of this.#troubled) {
      const entry = this.#entries.get(key);
      if (entry?.rejected === undefined) continue;
      const { issues, closed } = entry.rejected;
      this.#record(key, { metadata: entry.metadata, issues, object: undefined, substitute: closed });
    }
  }

  /** Yields the rejected objects, if the kind restricts. */
  *rejectedPolicies(): Generator<RejectedPolicy> {
    const { kind, place } = this.#options;
    if (kind.failClosed === undefined) return;
    for (const key of this.#troubled) {
      const { rejected, isActive = false } = this.#entries.get(key) ?? {};
      if (rejected === undefined || !(isActive || rejected.substitute !== undefined)) continue;
      const enforced = rejected.stored ? "stored" : rejected.substitute ? "fail-closed" : "last-good";
      yield { kind, key, file: place, line: 0, enforced };
    }
  }

  #set(key: string, event: ObjectVersion, resource: ResourceType): boolean {
    const { kind, revision: own } = this.#options;
    const revision = otherRevisionOf(kind, event.object, own);
    if (revision !== undefined)
      return this.#setOther(key, { namespace: event.namespace, name: event.name, revision, own: own ?? "" });
    const isTaken = this.#deleteOther(key);
    return this.#setOwn(key, event, resource) || isTaken;
  }

  /** Records that an object belongs to another revision. */
  #setOther(key: string, other: ObjectOfOtherRevision): boolean {
    const isReplaced = this.#deleteOwn(key);
    if (this.#others.get(key)?.revision === other.revision) return isReplaced;
    this.#others.set(key, other);
    this.#otherChanges.set(key, { kind: this.#options.kind, key, other });
    return true;
  }

  #setOwn(key: string, event: ObjectVersion, resource: ResourceType): boolean {
    const { kind, forWriting, policies } = this.#options;
    // A later object of the same name owes nothing to the one before.
    const isReplaced = this.#entries.get(key)?.metadata.uid !== event.uid && this.#deleteOwn(key);
    const decoded = decodeObject(event.object, resource, this.#options);
    if (decoded === undefined) return this.#deleteOwn(key) || isReplaced;
    this.#noteVersion(event.resourceVersion);
    const { object } = decoded;
    if (object !== undefined) policies?.accept({ kind, key, uid: event.uid }, object, event.resourceVersion);
    const metadata = metadataOf(event, forWriting);
    const known = this.#entries.get(key);
    if (known !== undefined && isUnchanged(known, decoded)) {
      this.#entries.set(key, { ...known, metadata });
      return false;
    }
    this.#record(key, { metadata, ...decoded });
    return true;
  }

  /** Records the latest version of an object, and what applies of it. */
  #record(
    key: string,
    { metadata, issues, object, substitute }: DecodedObject & { readonly metadata: ObjectMetadata },
  ): void {
    const { kind, place, policies } = this.#options;
    const before = this.#entries.get(key);
    const lastGood = before?.hasGood === true ? current : undefined;
    const definition = { object, ...(substitute && { substitute }) };
    const stored = policies?.lastGood({ kind, key, uid: metadata.uid });
    const decision = decide<typeof current | ConfigObject<unknown, unknown>>(kind, [definition], lastGood, stored);
    const { active } = decision;
    const staysActive =
      active === current || (decision.stored !== undefined && decision.stored === before?.rejected?.stored);
    if (!staysActive && (active !== undefined || before?.isActive === true))
      this.#changes.set(key, { kind, key, object: active as ConfigObject<unknown, unknown> | undefined });
    this.#setSubstitute(key, before?.rejected?.substitute, decision.substitute);
    const first: LocatedObject = { kind, key, object, file: place, line: 0, path: [] };
    const closed =
      object === undefined
        ? enforcedInstead({ kind, key, first, record: { stored: decision.stored, substitute: decision.substitute } })
        : noProblems;
    if (issues.length + closed.length > 0 || object === undefined) this.#troubled.add(key);
    else this.#troubled.delete(key);
    this.#entries.set(key, {
      metadata,
      hasGood: decision.lastGood !== undefined,
      isActive: active !== undefined,
      accepted: object,
      rejected:
        object === undefined
          ? { issues, closed: substitute, substitute: decision.substitute, stored: decision.stored }
          : undefined,
      problems: issues.length + closed.length === 0 ? noProblems : [...issues, ...closed],
    });
  }

  #noteVersion(resourceVersion: string): void {
    if (this.#options.policies === undefined) return;
    const version = orderOf(resourceVersion);
    if (version !== undefined && version > this.#newest) this.#newest = version;
  }

  #delete(key: string): boolean {
    return this.#deleteOther(key) || this.#deleteOwn(key);
  }

  #deleteOther(key: string): boolean {
    if (!this.#others.delete(key)) return false;
    this.#otherChanges.set(key, { kind: this.#options.kind, key, other: undefined });
    return true;
  }

  #deleteOwn(key: string): boolean {
    const before = this.#entries.get(key);
    if (before === undefined) return false;
    const { kind, policies } = this.#options;
    this.#entries.delete(key);
    this.#troubled.delete(key);
    policies?.delete({ kind, key, uid: before.metadata.uid });
    if (before.isActive) this.#changes.set(key, { kind, key, object: undefined });
    this.#setSubstitute(key, before.rejected?.substitute, undefined);
    return true;
  }

  #setSubstitute(
    key: string,
    before: ConfigObject<unknown, unknown> | undefined,
    after: ConfigObject<unknown, unknown> | undefined,
  ): void {
    if (before === after) return;
    const { kind } = this.#options;
    this.#substituteChanges.set(key, { kind, key, object: after, isSubstitute: true });
  }
}

/** Reports whether a version of an object decodes to what the one before decoded to. */
function isUnchanged({ accepted, rejected, problems }: Entry, { object, substitute, issues }: DecodedObject): boolean {
  if (object !== undefined) return structurallyEqual(accepted, object) && structurallyEqual(problems, issues);
  if (rejected === undefined) return false;
  return structurallyEqual(rejected.issues, issues) && structurallyEqual(rejected.closed, substitute);
}
