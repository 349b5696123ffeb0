import type { Resource, ResourceSet } from "@istiod/resources";
import type { Rejection } from "../events.js";
import type { Digest } from "../wire/digest.js";
import type { VersionList } from "../wire/names.js";
import { Appeared } from "./appeared.js";
import type { Trigger } from "./trigger.js";
import { NameSet } from "./name-set.js";
import { type LastResponse, UnansweredResponses } from "./unanswered-responses.js";

/** What a stream knows of one type: the subscription, what the client was last sent, and what it is still owed. */
export class TypeState {
  readonly typeUrl: string;

  wildcard = false;
  /** Names subscribed to explicitly. */
  names = new NameSet();
  /** State-of-the-world: what the last request listed. */
  listed: Digest | undefined;
  /** A name was subscribed to at some time, so that no names no longer mean a wildcard. */
  wasExplicit = false;

  /** The source's set when the last response was made: the client has its resources, as far as it subscribes to them. */
  known: ResourceSet | undefined;
  /** Subscribed names that are not in `known`, with the resource that the client was sent instead, if any. */
  readonly outside = new Map<string, Resource | undefined>();
  /** Delta: versions that the client had when it connected. Until the first response. */
  initialVersions: VersionList | undefined;

  /** What changes brought that is not subscribed to yet. */
  readonly appeared = new Appeared();
  /** Names to be sent whether or not they changed. */
  readonly resend = new Set<string>();
  /** A response must be sent even if it is empty. */
  mustRespond = false;
  /** The source failed when it was last asked, so that nobody knows what of it the next change alters. */
  failed = false;
  /** Something may have to be sent; since when, and why. */
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

  covers(name: string): boolean {
    return this.wildcard || this.names.has(name);
  }

  /** Drops what is kept for a client that subscribes to nothing: should it subscribe again, it has nothing. */
  forget(): void {
    this.known = undefined;
    this.initialVersions = undefined;
    this.outside.clear();
    this.mustRespond = false;
    this.failed = false;
    this.due = undefined;
  }
}
