import type { ResourceSet } from "@istiod/resources";
import type { Rejection } from "../events.js";
import type { Digest } from "../wire/digest.js";
import type { VersionList } from "../wire/names.js";
import type { Doubts } from "./doubts.js";
import { LookedUp } from "./looked-up.js";
import { NameSet } from "./name-set.js";
import { OutsideResources } from "./outside-resources.js";
import type { Trigger } from "./trigger.js";
import { type LastResponse, UnansweredResponses } from "./unanswered-responses.js";

/** Estimated size of a name that was not looked up yet, in bytes. */
const averageNameBytes = 1100;
/** Names of this number that are not shared do not count, because those of small sets never are. */
const freeNames = 128;

/** Returns the number of names of one type that are not shared from which on they exceed a size in bytes. */
export function maxUnsharedNames(bytes: number): number {
  return freeNames + Math.ceil(bytes / averageNameBytes);
}

/** The state of one type on a stream: the subscription, the resources last sent, and pending responses. */
export class TypeState {
  readonly typeUrl: string;

  wildcard = false;
  /** Names subscribed to explicitly. */
  names = new NameSet();
  /** State-of-the-world: digest of the names in the last request. */
  listed: Digest | undefined;
  /** Set once the client has subscribed to a name: from then on an empty list of names is not a wildcard. */
  wasExplicit = false;

  /** The source's set when the last response was built. The client has its subscribed resources. */
  known: ResourceSet | undefined;
  /** The set of the last acknowledged response. The client has its subscribed resources, apart from those in doubt. */
  acknowledged: ResourceSet | undefined;
  /** The resources in doubt after a rejected response; undefined if there are none. */
  doubts: Doubts | undefined;
  /** Subscribed names that are not in `known`, with the resource that was sent for them, if any. */
  readonly outside = new OutsideResources();
  /** Resources outside the set for a response that is being built. */
  readonly lookedUp = new LookedUp(this.outside);
  /** Number of changes of the source that may affect the type, and that number when `outside` was looked up. */
  changes = 0;
  lookedUpAt = 0;
  /** Delta: versions of the client's resources when it connected. Cleared by the first response. */
  initialVersions: VersionList | undefined;

  /** Delta: names that the client had when it connected, and that could not be generated since. It keeps them. */
  readonly keptFailing = new Set<string>();
  /**
   * State-of-the-world: set if the client had resources of the type when it connected. It does not state them, and
   * keeps those that it is sent in a version that it rejects.
   */
  mayKeepUnknown = false;
  /** Set if the client had resources of the type when it connected. */
  reconnected = false;
  /** Names to send even if they are unchanged. */
  readonly resend = new Set<string>();
  /** Delta: requested names that are too long to exist, to be answered once. */
  longNames: readonly string[] = [];
  /** Set if a response must be sent even if it is empty. */
  mustRespond = false;
  /** Set if the source threw at the last read. The type is read again after any next change. */
  failed = false;
  /** Set if the type must be read from the source, with the event that caused it. */
  due: Trigger | undefined;

  last: LastResponse | undefined;
  readonly unanswered = new UnansweredResponses();
  nonceAcked = "";
  versionAcked = "";
  lastError: Rejection | undefined;

  constructor(typeUrl: string) {
    this.typeUrl = typeUrl;
  }

  get subscribed(): boolean {
    return this.wildcard || this.names.size > 0;
  }

  /** Reports whether the client is subscribed to a name, explicitly or by wildcard. */
  covers(name: string): boolean {
    return this.wildcard || this.names.has(name);
  }

  /** Estimated size of the names that only this stream has, with their resources, in bytes. */
  get unmatchedBytes(): number {
    const unshared = this.names.unshared - this.outside.lost;
    const outsideBytes = this.outside.bytes + this.lookedUp.bytes;
    return (
      Math.max(outsideBytes, (unshared - freeNames) * averageNameBytes) +
      (this.initialVersions?.bytes ?? 0) +
      this.#longNameBytes
    );
  }

  get #longNameBytes(): number {
    let bytes = 0;
    for (const name of this.longNames) bytes += 2 * name.length;
    return bytes;
  }

  /** Drops the state of a type without a subscription. A later subscription starts over. */
  forget(): void {
    this.known = undefined;
    this.acknowledged = undefined;
    this.doubts = undefined;
    this.unanswered.void();
    this.initialVersions = undefined;
    this.keptFailing.clear();
    this.outside.clear();
    this.mustRespond = false;
    this.failed = false;
    this.due = undefined;
  }
}
