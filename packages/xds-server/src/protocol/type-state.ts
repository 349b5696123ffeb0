import type { Resource, ResourceSet } from "@istiod/resources";
import { namesOf } from "./set-digest.js";
import type { Rejection } from "../events.js";
import type { Digest } from "../wire/digest.js";
import type { VersionList } from "../wire/names.js";
import type { Selection } from "../wire/body-cache.js";

/** What a stream knows of one type: the subscription, what the client was last sent, and what it is still owed. */
export class TypeState {
  readonly typeUrl: string;

  wildcard = false;
  /** State-of-the-world: what the last request listed. */
  listed: Digest | undefined;
  /** A name was subscribed to at some time, so that no names no longer mean a wildcard. */
  wasExplicit = false;

  /** The source's set when the last response was made: the client has its resources, as far as it subscribes to them. */
  known: ResourceSet | undefined;
  /** Subscribed names that are not in `known`, with the resource that the client was sent instead, if any. */
  readonly outside = new Map<string, Resource | undefined>();
  /** Delta: versions that the client had when it connected. Until the first response. */
  held: VersionList | undefined;

  /** Names to be sent whether or not they changed. */
  readonly resend = new Set<string>();
  /** A response must be sent even if it is empty. */
  owed = false;
  /** Something may have to be sent; since when, and why. */
  due: Due | undefined;

  last: LastResponse | undefined;
  nonceAcked = "";
  versionAcked = "";
  lastError: Rejection | undefined;

  #names: ReadonlySet<string> = new Set();
  #ownNames: Set<string> | undefined;

  constructor(typeUrl: string) {
    this.typeUrl = typeUrl;
  }

  /** Names subscribed to explicitly. May be shared with other streams. */
  get names(): ReadonlySet<string> {
    return this.#names;
  }

  set names(names: ReadonlySet<string>) {
    this.#names = names;
    this.#ownNames = undefined;
  }

  addName(name: string): void {
    if (!this.#names.has(name)) this.#own().add(name);
  }

  /** False if it was not subscribed to. */
  deleteName(name: string): boolean {
    return this.#names.has(name) && this.#own().delete(name);
  }

  /** Drops an own collection of names if it has come to be that of the set. */
  shareNames(set: ResourceSet): void {
    if (this.#ownNames === undefined || this.#ownNames.size !== set.size) return;
    const names = namesOf(set);
    for (const name of this.#ownNames) if (!names.has(name)) return;
    this.names = names;
  }

  #own(): Set<string> {
    if (this.#ownNames === undefined) this.#names = this.#ownNames = new Set(this.#names);
    return this.#ownNames;
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
    this.held = undefined;
    this.outside.clear();
    this.owed = false;
    this.due = undefined;
  }
}

export interface Due {
  readonly reason: "request" | "change";
  /** Milliseconds, by the clock of the stream. */
  readonly since: number;
  readonly revision: number | undefined;
}

export interface LastResponse {
  readonly nonce: string;
  readonly version: string;
  readonly at: number;
  readonly due: Due;
  /** What it carried. Until it is acknowledged. */
  selection: Selection | undefined;
}
