import { ResourceSet, type Resource } from "@istiod/resources";
import type { Clock } from "../clock.js";
import type { Rejection, Variant } from "../events.js";
import type { Selection } from "../wire/body-cache.js";
import type { NameList, VersionList } from "../wire/names.js";
import type { XdsRequest } from "../wire/request.js";
import { everything, select } from "./selection.js";
import { NameSet } from "./name-set.js";
import { Held } from "./held.js";
import { isNamedIn } from "./names-in.js";
import { PendingChanges } from "./pending-changes.js";
import { endpointsNameOf } from "./warming.js";
import { TypeState, type Due } from "./type-state.js";
import type { SentResponse } from "./unanswered.js";
import { clusterType, endpointType, pushRank } from "./types.js";
import { versionOf } from "./version.js";

/** A source as one client sees it. */
export interface ClientSource {
  resources(typeUrl: string): ResourceSet | undefined;
  /** Undefined if the source has no names outside its sets. */
  readonly lookup: ((typeUrl: string, name: string) => Resource | undefined) | undefined;
  /** The source's own number of its present state, if it has one. */
  revision(): number | undefined;
  /** A question to the source failed; the type keeps what it had. */
  failed(typeUrl: string, error: unknown): void;
}

/** A response to be encoded and sent. */
export interface XdsResponse {
  readonly typeUrl: string;
  readonly nonce: string;
  readonly version: string;
  readonly selection: Selection;
  /** Why it is sent. */
  readonly due: Due;
  /** The revision of the source that it shows. */
  readonly revision: number | undefined;
  /** The changes since the last response that it shows something of, ascending. */
  readonly changes: readonly number[];
  /** When work on it began, and milliseconds that the source and the comparison took. */
  readonly startedAt: number;
  readonly buildMs: number;
}

/** What a request turned out to be, beside what it asks for. */
export interface Receipt {
  readonly typeUrl: string;
  readonly stale: boolean;
  readonly ack?: { readonly nonce: string; readonly version: string; readonly revision?: number; readonly afterMs: number; readonly sinceMs: number };
  readonly nack?: Rejection;
}

interface Step {
  readonly type: TypeState;
  readonly set: ResourceSet;
  readonly due: Due;
  readonly revision: number | undefined;
  readonly startedAt: number;
  /** Milliseconds that the source took. */
  readonly tookMs: number;
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
  #pass: Step[] = [];
  /** Names of endpoints whose clusters were sent on this stream before the endpoints were first asked for. */
  readonly #warming = new Set<string>();

  /** @param noncePrefix distinguishes this stream's nonces from those of others */
  constructor(source: ClientSource, clock: Clock, noncePrefix: string) {
    this.#source = source;
    this.#clock = clock;
    this.#noncePrefix = noncePrefix;
  }

  /** Applies a request. */
  request(request: XdsRequest): Receipt {
    let type = this.types.get(request.typeUrl);
    const first = type === undefined;
    if (type === undefined) this.types.set(request.typeUrl, (type = new TypeState(request.typeUrl)));
    const { last } = type;
    const stale = request.responseNonce !== "" && last !== undefined && request.responseNonce !== last.nonce;
    const answered = request.responseNonce === "" ? undefined : type.unanswered.answer(request.responseNonce);
    const nack = request.errorDetail === undefined ? undefined : this.#rejected(type, request, request.errorDetail, answered);
    let ack: Receipt["ack"];
    if (answered !== undefined && nack === undefined) {
      const { nonce, version, at, revision, due } = answered;
      const now = this.#clock.now();
      ack = { nonce, version, ...(revision !== undefined && { revision }), afterMs: now - at, sinceMs: now - due.since };
      type.nonceAcked = nonce;
      type.versionAcked = version;
      type.lastError = undefined;
    }
    if (this.subscribe(type, request, first, stale)) this.#mark(type, "request", undefined);
    else if (!type.subscribed) type.forget();
    return { typeUrl: request.typeUrl, stale, ...(ack && { ack }), ...(nack && { nack }) };
  }

  /** Changes the subscription. Says whether something may now have to be sent. */
  protected abstract subscribe(type: TypeState, request: XdsRequest, first: boolean, stale: boolean): boolean;

  /** Makes of what must be sent in the terms of delta what this variant sends, if anything. */
  protected abstract project(type: TypeState, selection: Selection): Selection | undefined;

  /**
   * The source may answer differently from now on.
   *
   * @param types the types that may differ; all if undefined
   */
  changed(types: readonly string[] | undefined, revision: number | undefined): void {
    for (const type of this.types.values()) {
      if (type.subscribed && (types === undefined || types.includes(type.typeUrl))) this.#mark(type, "change", revision);
    }
  }

  /** The source is about to change: what it has changed until now is told from what it will change. */
  changing(): void {
    for (const type of this.types.values()) {
      const known = this.#pass.find((step) => step.type === type)?.set ?? type.known;
      if (known === undefined || type.due?.changes.unseen !== true || !type.subscribed) continue;
      const set = this.#current(type);
      if (set !== undefined) type.due.changes.look(known, set);
    }
  }

  /** Whether `next` has something to look at. */
  get due(): boolean {
    if (this.#pass.length > 0) return true;
    for (const type of this.types.values()) if (type.due !== undefined) return true;
    return false;
  }

  /** The next response, or undefined if the client has everything. */
  next(): XdsResponse | undefined {
    for (;;) {
      if (this.#pass.length === 0) this.#begin();
      const step = this.#pass.shift();
      if (step === undefined) return undefined;
      const response = this.#compose(step);
      if (response !== undefined) return response;
    }
  }

  #mark(type: TypeState, reason: Due["reason"], revision: number | undefined): void {
    type.due ??= { reason, since: this.#clock.now(), changes: new PendingChanges() };
    if (revision !== undefined) type.due.changes.add(revision);
  }

  #begin(): void {
    const due = [...this.types.values()].filter((type) => type.due !== undefined);
    for (const type of due.sort((a, b) => pushRank(a.typeUrl) - pushRank(b.typeUrl))) {
      const why = type.due as Due;
      type.due = undefined;
      if (type.subscribed || type.resend.size > 0) this.#plan(type, why, this.#pass.length);
    }
  }

  #plan(type: TypeState, due: Due, position: number): void {
    const startedAt = this.#clock.now();
    try {
      const set = this.#source.resources(type.typeUrl) ?? ResourceSet.empty;
      this.#pass.splice(position, 0, { type, set, due, revision: this.#source.revision(), startedAt, tookMs: this.#clock.now() - startedAt });
    } catch (error) {
      this.#source.failed(type.typeUrl, error);
    }
  }

  #compose({ type, set, due, revision, startedAt, tookMs }: Step): XdsResponse | undefined {
    const composedFrom = this.#clock.now();
    const { known } = type;
    let selection: Selection;
    const heldClusters = type.typeUrl === clusterType && type.held !== undefined;
    try {
      const { lookup } = this.#source;
      const ofType = lookup && ((name: string) => lookup(type.typeUrl, name));
      selection = select(type, set, ofType, type.typeUrl === endpointType ? this.#warming : none);
    } catch (error) {
      this.#source.failed(type.typeUrl, error);
      return undefined;
    }
    const changes = due.changes.shownBy(selection, known, set, due.reason);
    if (type.typeUrl === clusterType) this.#warm(selection, heldClusters, { ...due, changes: new PendingChanges(changes) });
    if (type.typeUrl === endpointType) this.#warming.clear();
    const projected = this.project(type, selection);
    if (projected === undefined && !type.owed) return undefined;
    type.owed = false;
    const nonce = `${this.#noncePrefix}${(++this.#responses).toString(36)}`;
    const version = versionOf(set, type.outside);
    const carried = projected ?? nothing;
    const at = this.#clock.now();
    type.last = { nonce, version, at };
    type.unanswered.add({ ...type.last, due, revision, selection: carried });
    return { typeUrl: type.typeUrl, nonce, version, selection: carried, due, revision, changes, startedAt, buildMs: tookMs + at - composedFrom };
  }

  /** Envoy waits for the endpoints of each cluster that it is sent, even if it has them: they must follow. */
  #warm(clusters: Selection, reconnected: boolean, due: Due): void {
    const endpoints = this.types.get(endpointType);
    if (endpoints?.known === undefined) {
      if (reconnected || this.#warming.size > 0) for (const cluster of clusters.resources) this.#warming.add(endpointsNameOf(cluster));
      return;
    }
    for (const cluster of clusters.resources) {
      const name = endpointsNameOf(cluster);
      if (endpoints.covers(name)) endpoints.resend.add(name);
    }
    if (endpoints.resend.size > 0 && !this.#pass.some(({ type }) => type === endpoints)) {
      this.#plan(endpoints, endpoints.due ?? due, 0);
      endpoints.due = undefined;
    }
  }

  #rejected(type: TypeState, { responseNonce }: XdsRequest, error: { code: number; message: string }, answered: SentResponse | undefined): Rejection {
    const carried = answered?.selection.resources ?? [];
    const refused = carried.filter(({ name }) => carried.length === 1 || isNamedIn(error.message, name));
    const rejection: Rejection = {
      nonce: responseNonce,
      version: answered?.version ?? "",
      code: error.code,
      message: error.message,
      resources: refused.map(({ name }) => name),
      versions: Object.fromEntries(refused.map(({ name, version }) => [name, version])),
      at: this.#clock.now(),
      ...(answered?.revision !== undefined && { revision: answered.revision }),
    };
    type.lastError = rejection;
    return rejection;
  }

  protected everything(type: TypeState): Selection {
    return everything(type);
  }

  /** The listed names. */
  protected namesIn(type: TypeState, list: NameList): NameSet {
    return list.size === 0 ? new NameSet() : NameSet.of(list, type.known ?? this.#current(type));
  }

  /** The listed versions, without the request that they came in. */
  protected versionsIn(type: TypeState, list: VersionList): VersionList | undefined {
    if (list.size === 0) return undefined;
    const set = this.#current(type);
    return set === undefined ? list.kept() : new Held(list, set);
  }

  #current(type: TypeState): ResourceSet | undefined {
    try {
      return this.#source.resources(type.typeUrl);
    } catch (error) {
      this.#source.failed(type.typeUrl, error);
      return undefined;
    }
  }
}

const none: ReadonlySet<string> = new Set();
const nothing: Selection = { resources: [], removed: [] };
