import type { ResourceSet } from "@istiod/resources";
import type { Clock } from "../clock.js";
import type { Variant } from "../events.js";
import type { Selection } from "../wire/body-cache.js";
import type { NameList, VersionList } from "../wire/names.js";
import type { XdsRequest } from "../wire/request.js";
import { type ClientSource, currentOf } from "./client-source.js";
import type { Trigger } from "./trigger.js";
import { InitialVersions } from "./initial-versions.js";
import { NameSet } from "./name-set.js";
import { Pass, type Step } from "./pass.js";
import { PendingChanges } from "./pending-changes.js";
import { type Receipt, receive } from "./receipt.js";
import { select } from "./selection.js";
import { TypeState } from "./type-state.js";
import { clusterType, endpointType } from "./types.js";
import { versionOf } from "./version.js";
import { Warming } from "./warming.js";

/** A response to be encoded and sent. */
export interface XdsResponse {
  readonly typeUrl: string;
  readonly nonce: string;
  readonly version: string;
  readonly selection: Selection;
  /** Why it is sent. */
  readonly due: Trigger;
  /** The revision of the source that it shows. */
  readonly revision: number | undefined;
  /** The changes since the last response that it shows something of, ascending. */
  readonly changes: readonly number[];
  /** When work on it began, and milliseconds that the source and the comparison took. */
  readonly startedAt: number;
  readonly buildMs: number;
}

/**
 * One stream of the xDS protocol, apart from any transport: requests and changes come in by `request` and `changed`, and
 * `next` gives the responses that are due, one at a time, when the transport can take one. Changes that come while
 * nothing can be sent are thereby merged.
 *
 * Responses are made in passes. A pass takes the sets of all types that are due at one moment, so that it is consistent
 * in itself, and sends them in push order; what comes later waits for the next pass, so that frequent changes of an early
 * type do not hold up the later ones.
 */
export abstract class AdsStream {
  abstract readonly variant: Variant;
  readonly types = new Map<string, TypeState>();

  readonly #source: ClientSource;
  readonly #clock: Clock;
  readonly #noncePrefix: string;
  #responses = 0;
  readonly #pass: Pass;
  readonly #warming = new Warming();

  /** @param noncePrefix distinguishes this stream's nonces from those of others */
  constructor(source: ClientSource, clock: Clock, noncePrefix: string) {
    this.#source = source;
    this.#clock = clock;
    this.#noncePrefix = noncePrefix;
    this.#pass = new Pass(source, clock);
  }

  /** Applies a request. */
  request(request: XdsRequest): Receipt {
    let type = this.types.get(request.typeUrl);
    const first = type === undefined;
    if (type === undefined) this.types.set(request.typeUrl, (type = new TypeState(request.typeUrl)));
    const receipt = receive(type, request, this.#clock);
    if (this.subscribe(type, request, first, receipt.stale)) this.#mark(type, "request", undefined);
    else if (!type.subscribed) type.forget();
    return receipt;
  }

  /** Changes the subscription. Says whether something may now have to be sent. */
  protected abstract subscribe(type: TypeState, request: XdsRequest, first: boolean, stale: boolean): boolean;

  /** Makes of what must be sent in the terms of delta what this variant sends, if anything. */
  protected abstract project(type: TypeState, selection: Selection): Selection | undefined;

  /**
   * The source may answer differently from now on. Gives whether there is something to look at.
   *
   * @param types the types that may differ; all if undefined. Those of which a change still waits to be looked at, and those that failed, are taken to be
   * among them.
   */
  changed(types: ReadonlySet<string> | undefined, revision: number | undefined): boolean {
    let marked = false;
    for (const type of this.types.values()) {
      const may = types === undefined || types.has(type.typeUrl) || type.failed || type.due?.changes.unseen === true;
      if (!may || !type.subscribed) continue;
      this.#mark(type, "change", revision);
      marked = true;
    }
    return marked;
  }

  /** Whether a type is to be looked at again after the next change, whatever that is of. */
  get failed(): boolean {
    for (const type of this.types.values()) if (type.failed) return true;
    return false;
  }

  /** The source is about to change: what it has changed until now is told from what it will change. */
  changing(): void {
    for (const type of this.types.values()) {
      const known = this.#pass.of(type)?.set ?? type.known;
      if (known === undefined || type.due?.changes.unseen !== true || !type.subscribed) continue;
      const set = currentOf(this.#source, type.typeUrl);
      if (set !== undefined) type.due.changes.look(known, set);
    }
  }

  /** Whether `next` has something to look at. */
  get due(): boolean {
    if (!this.#pass.over) return true;
    for (const type of this.types.values()) if (type.due !== undefined) return true;
    return false;
  }

  /** The next response, or undefined if the client has everything. */
  next(): XdsResponse | undefined {
    for (;;) {
      if (this.#pass.over) this.#pass.begin(this.types.values());
      const step = this.#pass.next();
      if (step === undefined) return undefined;
      const response = this.#compose(step);
      if (response !== undefined) return response;
    }
  }

  #mark(type: TypeState, reason: Trigger["reason"], revision: number | undefined): void {
    type.due ??= { reason, since: this.#clock.now(), changes: new PendingChanges() };
    if (revision !== undefined) type.due.changes.add(revision);
  }

  #compose({ type, set, due, revision, startedAt, tookMs }: Step): XdsResponse | undefined {
    const composedFrom = this.#clock.now();
    const { typeUrl, known } = type;
    const returned = type.initialVersions !== undefined;
    let selection: Selection;
    try {
      const { lookup } = this.#source;
      const ofType = lookup && ((name: string) => lookup(typeUrl, name));
      selection = select(type, set, ofType, typeUrl === endpointType ? this.#warming.awaited : none);
    } catch (error) {
      type.failed = true;
      this.#source.failed(typeUrl, error);
      return undefined;
    }
    const changes = this.#shownBy(selection, type, known, set, due);
    if (typeUrl === clusterType) this.#warm(selection, returned, { ...due, changes: new PendingChanges(changes) });
    else if (typeUrl === endpointType) this.#warming.endpointsSent();
    const projected = this.project(type, selection);
    if (projected === undefined && !type.mustRespond) return undefined;
    type.mustRespond = false;
    const nonce = `${this.#noncePrefix}${(++this.#responses).toString(36)}`;
    const version = versionOf(set, type.outside);
    const carried = projected ?? nothing;
    const at = this.#clock.now();
    type.last = { nonce, version, at };
    type.unanswered.add({ ...type.last, due, revision, selection: carried });
    return {
      typeUrl,
      nonce,
      version,
      selection: carried,
      due,
      revision,
      changes,
      startedAt,
      buildMs: tookMs + at - composedFrom,
    };
  }

  /** The changes that a response shows something of, ascending: those that it waited for, and those that brought what the client asks for because of them. */
  #shownBy(
    selection: Selection,
    type: TypeState,
    known: ResourceSet | undefined,
    set: ResourceSet,
    { changes, reason }: Trigger,
  ): readonly number[] {
    const shown = changes.shownBy(selection, known, set, reason);
    const now = this.#clock.now();
    const before = type.appeared.takenBy(selection, now);
    if (known !== undefined && known !== set && !type.wildcard)
      type.appeared.note(changes.apart(known, set), (name) => type.names.has(name) || known.has(name), now);
    return before.length === 0 ? shown : [...new Set([...before, ...shown])].sort((a, b) => a - b);
  }

  /** The endpoints that clusters wait for follow them at once. */
  #warm(clusters: Selection, returned: boolean, due: Trigger): void {
    const endpoints = this.types.get(endpointType);
    if (!this.#warming.clustersSent(clusters, endpoints, returned) || this.#pass.of(endpoints) !== undefined) return;
    this.#pass.prepend(endpoints, endpoints.due ?? due);
    endpoints.due = undefined;
  }

  /** The listed names. */
  protected namesIn(type: TypeState, list: NameList): NameSet {
    return list.size === 0 ? new NameSet() : NameSet.of(list, type.known ?? currentOf(this.#source, type.typeUrl));
  }

  /** The listed versions, without the request that they came in. */
  protected versionsIn(type: TypeState, list: VersionList): VersionList | undefined {
    if (list.size === 0) return undefined;
    const set = currentOf(this.#source, type.typeUrl);
    return set === undefined ? list.detach() : new InitialVersions(list, set);
  }
}

const none: ReadonlySet<string> = new Set();
const nothing: Selection = { resources: [], removed: [] };
