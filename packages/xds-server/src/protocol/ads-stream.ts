import { Code, ConnectError } from "@connectrpc/connect";
import { clusterType, endpointType, ResourceSet } from "@istiod/resources";
import type { ShownChanges, StreamAttribution } from "../attribution.js";
import type { Clock } from "@istiod/settings";
import type { Variant } from "../events.js";
import type { StreamLimits } from "../limits/stream-limits.js";
import type { Selection } from "../wire/body-cache.js";
import { Digest } from "../wire/digest.js";
import type { NameList, VersionList } from "../wire/names.js";
import type { XdsRequest } from "../wire/request.js";
import { type ClientSource, currentSet } from "./client-source.js";
import { InitialVersions } from "./initial-versions.js";
import { NameSet } from "./name-set.js";
import { Pass, type Step } from "./pass.js";
import { type Receipt, receive } from "./receipt.js";
import { checkBytes, checkNames, tooMuch, unmatchedBytesOf } from "./request-limits.js";
import { select } from "./selection.js";
import { complete, type Sliced } from "../sliced.js";
import type { Trigger } from "./trigger.js";
import { maxUnsharedNames, TypeState } from "./type-state.js";
import { versionOf } from "./version.js";
import { Warming } from "./warming.js";

/** A response to be encoded and sent. */
export interface XdsResponse {
  readonly typeUrl: string;
  readonly nonce: string;
  readonly version: string;
  readonly selection: Selection;
  readonly trigger: Trigger;
  readonly shown: ShownChanges;
  /** Time at which the response was started, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** Milliseconds that the source and the comparison took. */
  readonly buildMs: number;
}

/** The collaborators of a stream. */
export interface StreamOptions {
  readonly source: ClientSource;
  readonly attribution: StreamAttribution;
  readonly clock: Clock;
  /** Prefix that distinguishes this stream's nonces from those of other streams. */
  readonly noncePrefix: string;
  readonly limits: Required<StreamLimits>;
}

/**
 * One stream of the xDS protocol, independent of the transport. `request` and `changed` are its inputs; `next` returns
 * the due responses, one at a time, when the transport can send one. Changes that arrive while the client is not
 * reading are thereby merged.
 *
 * Responses are built in passes. A pass reads the sets of all due types at one moment, so that they are consistent with
 * each other, and sends them in push order. Later changes wait for the next pass, so that frequent changes of an early
 * type do not hold up later types.
 */
export abstract class AdsStream {
  abstract readonly variant: Variant;
  readonly types = new Map<string, TypeState>();

  readonly #source: ClientSource;
  readonly #attribution: StreamAttribution;
  readonly #clock: Clock;
  readonly #noncePrefix: string;
  readonly #pass: Pass;
  readonly #warming = new Warming();
  readonly #limits: Required<StreamLimits>;
  #responses = 0;
  /** Requested types that the source does not serve, with the number of empty responses that are due. */
  readonly #unservedTypes = new Map<string, number>();

  constructor({ source, attribution, clock, noncePrefix, limits }: StreamOptions) {
    this.#source = source;
    this.#attribution = attribution;
    this.#clock = clock;
    this.#noncePrefix = noncePrefix;
    this.#limits = limits;
    this.#pass = new Pass(source, attribution, clock);
  }

  /** Changes the subscription. Reports whether a response may be due. */
  protected abstract subscribe(type: TypeState, request: XdsRequest, first: boolean, stale: boolean): Sliced<boolean>;

  /**
   * Converts a selection in terms of delta to the content of this variant's response; undefined if there is nothing to
   * send.
   */
  protected abstract project(type: TypeState, selection: Selection): Sliced<Selection | undefined>;

  /**
   * Applies a request. Returns undefined if the source does not serve its type: a first request is answered with an
   * empty response, and nothing is kept. Until this is complete, no other request may be applied, and `next` must not
   * be called.
   *
   * @throws ConnectError `ResourceExhausted` if the stream exceeds a limit
   */
  *request(request: XdsRequest): Sliced<Receipt | undefined> {
    let type = this.types.get(request.typeUrl);
    const first = type === undefined;
    if (type === undefined) {
      if (!this.#accepts(request)) return undefined;
      this.types.set(request.typeUrl, (type = new TypeState(request.typeUrl)));
    }
    const before = type.unmatchedBytes;
    const receipt = yield* receive(type, request, this.#clock);
    if (yield* this.subscribe(type, request, first, receipt.stale)) this.#mark(type, "request");
    else if (!type.subscribed) {
      type.forget();
      this.#attribution.unmarked(type.typeUrl);
    }
    if (request.names.size > 0) yield* this.checkNames(type, before);
    return receipt;
  }

  /** Estimated size of the names that only this stream has, with their resources, in bytes. */
  get unmatchedBytes(): number {
    return unmatchedBytesOf(this.types);
  }

  /** Reports whether the client may subscribe to another type. */
  #accepts({ typeUrl, responseNonce }: XdsRequest): boolean {
    const { types } = this.#limits;
    if (this.#source.serves(typeUrl)) {
      if (this.types.size >= types) throw tooMuch(`more than ${types} resource types`);
      return true;
    }
    const pending = this.#unservedTypes.get(typeUrl);
    if (pending === undefined && this.#unservedTypes.size >= types)
      throw tooMuch(`more than ${types} unknown resource types`);
    this.#unservedTypes.set(typeUrl, (pending ?? 0) + (responseNonce === "" ? 1 : 0));
    return false;
  }

  /**
   * Marks the types that a change of the source may affect. Reports whether any is due because of it.
   *
   * @param types the affected types; all if undefined. Types whose last read failed are always included.
   */
  changed(types: ReadonlySet<string> | undefined): boolean {
    let marked = false;
    for (const type of this.types.values()) {
      if (!type.subscribed) continue;
      const { typeUrl } = type;
      const affected = types === undefined || types.has(typeUrl) || type.failed;
      if (!affected && !this.#attribution.expectsNextChange(typeUrl)) continue;
      this.#mark(type, "change");
      type.changes++;
      this.#attribution.marked(typeUrl);
      marked = true;
    }
    return marked;
  }

  /**
   * Reports whether a type must be read again after the next change, regardless of the types that the change affects.
   */
  get failed(): boolean {
    for (const type of this.types.values()) if (type.failed) return true;
    return false;
  }

  /** Reports whether `next` may return a response. */
  get due(): boolean {
    if (!this.#pass.done) return true;
    for (const type of this.types.values()) if (type.due !== undefined) return true;
    for (const pending of this.#unservedTypes.values()) if (pending > 0) return true;
    return false;
  }

  /**
   * Returns the next response, or undefined if none is due. Until this is complete, no request may be applied; changes
   * may be reported.
   *
   * @throws ConnectError `ResourceExhausted` if the stream exceeds a limit
   */
  *next(): Sliced<XdsResponse | undefined> {
    for (;;) {
      if (this.#pass.done) this.#pass.begin(this.types.values());
      const step = this.#pass.next();
      if (step === undefined) return this.#answerUnserved();
      const response = yield* this.#compose(step);
      this.#pass.finished();
      if (response !== undefined) return response;
    }
  }

  /** Returns the set of a subscribed type that was last sent or that the current pass sends. */
  sentSet(typeUrl: string): ResourceSet | undefined {
    const type = this.types.get(typeUrl);
    return type?.subscribed === true ? (this.#pass.stepOf(type)?.set ?? type.known) : undefined;
  }

  #mark(type: TypeState, reason: Trigger["reason"]): void {
    type.due ??= { reason, since: this.#clock.now() };
  }

  /** Returns the next empty response to a request of a type that the source does not serve. */
  #answerUnserved(): XdsResponse | undefined {
    for (const [typeUrl, pending] of this.#unservedTypes) {
      if (pending === 0) continue;
      this.#unservedTypes.set(typeUrl, pending - 1);
      const [now, version] = [this.#clock.now(), complete(versionOf(ResourceSet.empty, new Digest()))];
      const trigger = { reason: "request", since: now } as const;
      const timing = { startedAt: now, buildMs: 0 };
      return {
        typeUrl,
        nonce: this.#nextNonce(),
        version,
        selection: nothing,
        trigger,
        shown: { changes: [] },
        ...timing,
      };
    }
    return undefined;
  }

  #nextNonce(): string {
    return `${this.#noncePrefix}${(++this.#responses).toString(36)}`;
  }

  *#compose(step: Step): Sliced<XdsResponse | undefined> {
    const composedFrom = this.#clock.now();
    const { type, set, trigger, startedAt, tookMs } = step;
    const { typeUrl, known: before, wildcard, names } = type;
    const reconnected = type.initialVersions !== undefined;
    const selected = yield* this.#select(step);
    if (selected === undefined) return undefined;
    const { reason } = trigger;
    const shown = this.#attribution.attribute({ typeUrl, reason, selection: selected, before, set, wildcard, names });
    if (typeUrl === clusterType) yield* this.#warmEndpoints(selected, reconnected, trigger);
    else if (typeUrl === endpointType) this.#warming.endpointsSent();
    const projected = yield* this.project(type, selected);
    if (projected === undefined && !type.mustRespond) return undefined;
    type.mustRespond = false;
    const nonce = this.#nextNonce();
    const version = yield* versionOf(set, type.outside.digest);
    const selection = projected ?? nothing;
    const at = this.#clock.now();
    type.last = { nonce, version, at };
    type.unanswered.add({ ...type.last, trigger, shown, selection });
    return { typeUrl, nonce, version, selection, trigger, shown, startedAt, buildMs: tookMs + at - composedFrom };
  }

  *#select({ type, set }: Step): Sliced<Selection | undefined> {
    const { typeUrl } = type;
    const { lookup } = this.#source;
    const lookupName =
      lookup &&
      ((name: string) => {
        // The resource of a name is not counted before it is looked up.
        if (type.outside.bytes + type.lookedUp.bytes > this.#limits.unmatchedBytes)
          checkBytes(this.types, this.#limits);
        return lookup(typeUrl, name);
      });
    try {
      return yield* select(type, set, lookupName, typeUrl === endpointType ? this.#warming.awaited : noNames);
    } catch (error) {
      if (error instanceof ConnectError && error.code === Code.ResourceExhausted) throw error;
      type.failed = true;
      this.#source.failed(typeUrl, error);
      return undefined;
    }
  }

  /** Drops what the source keeps for names that are not in the sets. The stream has ended. */
  close(): void {
    for (const { typeUrl, outside, lookedUp } of this.types.values()) {
      for (const [name] of outside) this.#source.unsubscribed(typeUrl, name);
      for (const name of lookedUp.clear()) if (!outside.has(name)) this.#source.unsubscribed(typeUrl, name);
    }
  }

  /** Drops what was kept for a name that the client has unsubscribed from. */
  protected unsubscribed(type: TypeState, name: string): void {
    const wasLookedUp = type.lookedUp.has(name);
    type.lookedUp.take(name);
    if (type.outside.delete(name) || wasLookedUp) this.#source.unsubscribed(type.typeUrl, name);
  }

  /** Adds the endpoints that the given clusters wait for as the next step. */
  *#warmEndpoints(clusters: Selection, reconnected: boolean, trigger: Trigger): Sliced<void> {
    const endpoints = this.types.get(endpointType);
    if (!(yield* this.#warming.clustersSent(clusters, endpoints, reconnected)) || endpoints === undefined) return;
    if (this.#pass.stepOf(endpoints) !== undefined) return;
    const { due } = endpoints;
    endpoints.due = undefined;
    if (due === undefined) this.#pass.prepend(endpoints, trigger, clusterType);
    else this.#pass.prepend(endpoints, due);
  }

  /**
   * Checks the limits after names of a type were added.
   *
   * @param before estimated size of the type's names before; default 0
   * @throws ConnectError `ResourceExhausted`
   */
  protected checkNames(type: TypeState, before = 0): Sliced<void> {
    return checkNames(this.types, type, before, this.#limits, () => currentSet(this.#source, type.typeUrl));
  }

  /** Number of names of a type that are not shared after which the limits must be checked. */
  get #maxUnshared(): number {
    return maxUnsharedNames(this.#limits.unmatchedBytes);
  }

  /** Reports whether so many names of a type are not shared that the limits must be checked. */
  protected hasTooMany({ names }: TypeState): boolean {
    return names.unshared > this.#maxUnshared;
  }

  /** Returns the listed names as a name set, shared with the type's set where possible. */
  protected *namesIn(type: TypeState, list: NameList): Sliced<NameSet> {
    if (list.size === 0) return new NameSet();
    // The names of a large list may be in a newer set, and those in neither are limited.
    const known = list.size > this.#maxUnshared ? undefined : type.known;
    return yield* NameSet.of(list, known ?? currentSet(this.#source, type.typeUrl), this.#maxUnshared);
  }

  /** Returns the listed versions detached from the request; undefined if there are none. */
  protected *versionsIn(type: TypeState, list: VersionList): Sliced<VersionList | undefined> {
    if (list.size === 0) return undefined;
    const set = currentSet(this.#source, type.typeUrl);
    return set === undefined ? list.detach() : yield* InitialVersions.of(list, set);
  }
}

const noNames: ReadonlySet<string> = new Set();
const nothing: Selection = { resources: [], removed: [] };
