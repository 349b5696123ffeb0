import {
  type ConfigObject,
  decode,
  type DecodeOptions,
  type Kind,
  type LocatedObject,
  type ObjectChange,
  type Problem,
} from "@istiod/config-schema";
import { apiVersionOf, type ResourceType } from "@istiod/kubernetes";
import { decide } from "../ledger/decision.js";
import { enforcedInstead } from "../ledger/enforced-instead.js";
import type { RejectedPolicy } from "../ledger/stored-versions.js";
import type { ObjectEvent } from "./cluster-reader.js";
import { metadataOf, type ObjectMetadata } from "./object-metadata.js";

export interface KindObjectsOptions extends Pick<DecodeOptions, "revision"> {
  readonly kind: Kind;
  readonly cluster: string;
  /** Name that stands for the file in problems and locations. */
  readonly place: string;
  readonly forWriting: boolean;
}

/** Stands for the object that the database has, which is the last good version. */
const current = Symbol("current");

interface Entry {
  readonly metadata: ObjectMetadata;
  /** True if an accepted version was active since the object was created. */
  readonly hasGood: boolean;
  readonly rejected: { readonly substitute: ConfigObject<unknown, unknown> | undefined } | undefined;
  readonly problems: readonly Problem[];
}

const noProblems: readonly Problem[] = [];

/**
 * The objects of one kind in a cluster: decodes them, and decides what applies instead of rejected ones. Accepted
 * objects are handed over and not kept; of each there is only its version.
 */
export class KindObjects {
  readonly #options: KindObjectsOptions;
  readonly #entries = new Map<string, Entry>();
  /** Keys of the entries with problems or a rejected object, which are few. */
  readonly #troubled = new Set<string>();
  /** Changes that were not taken, by key. */
  readonly #changes = new Map<string, ObjectChange>();
  readonly #substituteChanges = new Map<string, ObjectChange>();
  /** Objects that the current watch has not reported yet. */
  #unconfirmed: Set<string> | undefined;

  constructor(options: KindObjectsOptions) {
    this.#options = options;
  }

  /** Begins a watch that knows nothing of earlier ones. What it does not report until `endSync` no longer exists. */
  beginSync(): void {
    this.#unconfirmed = new Set(this.#entries.keys());
  }

  /** Ends the first complete list of a watch. */
  endSync(): void {
    for (const key of this.#unconfirmed ?? []) this.#delete(key);
    this.#unconfirmed = undefined;
  }

  /** Removes all objects, because the kind is no longer served. */
  clear(): void {
    for (const key of [...this.#entries.keys()]) this.#delete(key);
    this.#unconfirmed = undefined;
  }

  apply(event: ObjectEvent, resource: ResourceType): void {
    const { kind, cluster } = this.#options;
    const key = kind.key({ cluster, namespace: event.namespace, name: event.name });
    this.#unconfirmed?.delete(key);
    if (event.type === "delete") this.#delete(key);
    else this.#set(key, event, resource);
  }

  /** Returns the changes since the last call. */
  takeChanges(): readonly ObjectChange[] {
    const changes = [...this.#changes.values(), ...this.#substituteChanges.values()];
    this.#changes.clear();
    this.#substituteChanges.clear();
    return changes;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  metadata(key: string): ObjectMetadata | undefined {
    return this.#entries.get(key)?.metadata;
  }

  *problems(): Generator<Problem> {
    for (const key of this.#troubled) yield* this.#entries.get(key)?.problems ?? noProblems;
  }

  /** Yields the rejected objects, if the kind restricts. */
  *rejectedPolicies(): Generator<RejectedPolicy> {
    const { kind, place } = this.#options;
    if (kind.failClosed === undefined) return;
    for (const key of this.#troubled) {
      const { rejected, hasGood = false } = this.#entries.get(key) ?? {};
      if (rejected === undefined || !(hasGood || rejected.substitute !== undefined)) continue;
      yield { kind, key, file: place, line: 0, enforced: hasGood ? "last-good" : "fail-closed" };
    }
  }

  #set(key: string, event: Extract<ObjectEvent, { readonly type: "set" }>, resource: ResourceType): void {
    const { kind, cluster, revision, place, forWriting } = this.#options;
    // A later object of the same name owes nothing to the one before.
    if (this.#entries.get(key)?.metadata.uid !== event.uid) this.#delete(key);
    const before = this.#entries.get(key);
    const document = { ...event.object, apiVersion: apiVersionOf(resource), kind: resource.kind };
    const [decoded] = decode(document, { cluster, kinds: [kind], ...(revision !== undefined && { revision }) });
    if (decoded === undefined || decoded.outcome === "ignored") {
      this.#delete(key);
      return;
    }
    const object = decoded.outcome === "accepted" ? decoded.object : undefined;
    const substitute = decoded.outcome === "rejected" ? decoded.substitute : undefined;
    const definition = { object, ...(substitute && { substitute }) };
    const lastGood = before?.hasGood === true ? current : undefined;
    const decision = decide<typeof current | ConfigObject<unknown, unknown>>(kind, [definition], lastGood, undefined);
    if (decision.active !== current && decision.active !== undefined)
      this.#changes.set(key, { kind, key, object: decision.active as ConfigObject<unknown, unknown> });
    this.#setSubstitute(key, before?.rejected?.substitute, decision.substitute);
    const at = { file: place, line: 0 };
    const found = decoded.issues.map(({ severity, path, message, code }): Problem => ({
      severity,
      ...at,
      path,
      message,
      ...(decoded.subject && { subject: decoded.subject }),
      ...(code && { code }),
    }));
    const first: LocatedObject = { kind, key, object, ...at, path: [] };
    const closed =
      object === undefined
        ? enforcedInstead({ kind, key, first, record: { stored: undefined, substitute: decision.substitute } })
        : noProblems;
    if (found.length + closed.length > 0 || object === undefined) this.#troubled.add(key);
    else this.#troubled.delete(key);
    this.#entries.set(key, {
      metadata: metadataOf(event, forWriting),
      hasGood: decision.lastGood !== undefined,
      rejected: object === undefined ? { substitute: decision.substitute } : undefined,
      problems: found.length + closed.length === 0 ? noProblems : [...found, ...closed],
    });
  }

  #delete(key: string): void {
    const before = this.#entries.get(key);
    if (before === undefined) return;
    const { kind } = this.#options;
    this.#entries.delete(key);
    this.#troubled.delete(key);
    if (before.hasGood) this.#changes.set(key, { kind, key, object: undefined });
    this.#setSubstitute(key, before.rejected?.substitute, undefined);
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
