import type { ConfigObject, Kind, LocatedObject } from "@istiod/config-schema";

/** A last good version that is kept outside of this process. */
export interface StoredVersion {
  readonly object: ConfigObject<unknown, unknown>;
  /** Describes the version in messages, for example `resource version 4711`. */
  readonly version: string;
}

/** Last good versions that are kept outside of this process, of kinds that restrict. */
export interface StoredVersions {
  /**
   * Returns the last good version of an object; `none` if there is none; `unknown` if this process could not store the
   * versions that it accepted, so that its own memory is newer.
   */
  lastGood(kind: Kind, key: string): StoredVersion | "none" | "unknown";
  /** Returns the objects that were last accepted from a file, without a version. */
  definedIn(file: string): readonly LocatedObject[];
}

/** Changes of objects of kinds that restrict, for the store of their last good versions. */
export interface StoreChanges {
  readonly accepted: {
    readonly kind: Kind;
    readonly key: string;
    readonly object: ConfigObject<unknown, unknown>;
    readonly file: string;
  }[];
  readonly deleted: { readonly kind: Kind; readonly key: string }[];
}

/** A rejected object of a kind that restricts, and what applies instead. */
export interface RejectedPolicy {
  readonly kind: Kind;
  readonly key: string;
  readonly file: string;
  readonly line: number;
  /** `fail-closed`: the most restrictive object of its kind. */
  readonly enforced: "last-good" | "stored" | "fail-closed";
}
