import { Code, ConnectError } from "@connectrpc/connect";
import { clusterType, endpointType, ResourceSet } from "@istiod/resources";
import type { ShownChanges, StreamAttribution } from "../attribution.js";
import type { Clock } from "@istiod/runtime";
import type { Variant } from "../events.js";
import { KnownRejections } from "../limits/known-rejections.js";
import type { StreamLimits } from "../limits/stream-limits.js";
import { type TrialShare, unlimitedTrials } from "../limits/trial-pool.js";
import type { Selection } from "../wire/body-cache.js";
import { Digest } from "../wire/digest.js";
import type { XdsRequest } from "../wire/request.js";
import type { ClientSource } from "./client-source.js";
import type { UncertainNames, UncertainResources } from "./doubt-memory.js";
import type { TrialLimits } from "./doubts.js";
import { NameLists } from "./name-lists.js";
import { Pass, type Step } from "./pass.js";
import { type Receipt, receive } from "./receipt.js";
import { checkBytes, tooMuch, unmatchedBytesOf } from "./request-limits.js";
import { select } from "./selection.js";
import { complete, type Sliced } from "../sliced.js";
import { type TrialRules, Trials } from "./trials.js";
import type { Trigger } from "./trigger.js";
import { TypeState } from "./type-state.js";
import type { SentResponse } from "./unanswered-responses.js";
import { versionOf } from "./version.js";
import { UnservedTypes } from "./unserved-types.js";
import { nothingUncertain, uncertainNames, withoutDoubts, withUncertain } from "./uncertain-resources.js";
import { Warming } from "./warming.js";

/** A response to be encoded and sent. */
export interface XdsResponse {
  readonly typeUrl: string;
  readonly nonce: string;
  readonly version: string;
  readonly selection: Selection;
  readonly trigger: Trigger;
  readonly shown: ShownChanges;
  /** Set if the response sends resources of a rejected response again. */
  readonly isRetry?: true;
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
  /** Returns a number from 0 to less than 1, for the jitter of retries. */
  readonly random: () => number;
  /** The part of this stream in the responses that find invalid resources. Default: {@link unlimitedTrials}. */
  readonly trials?: TrialShare;
  /** The versions that clients of the server have rejected. Default: those of this stream. */
  readonly rejections?: KnownRejections;
  /** Sends the resources of a rejected response again. Default: true. */
  readonly isolatesRejections?: boolean;
  /** Names that the client may have or not since its last stream. Default: none. */
  readonly uncertain?: UncertainNames | undefined;
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
  readonly #warming: Warming;
  readonly #limits: Required<StreamLimits>;
  protected readonly lists: NameLists;
  readonly #trialLimits: TrialLimits;
  readonly #rejections: KnownRejections;
  readonly #isolatesRejections: boolean;
  readonly #uncertain: UncertainNames | undefined;
  #responses = 0;
  readonly #trials: Trials;
  readonly #unserved: UnservedTypes;

  constructor(
    {
      source,
      attribution,
      clock,
      noncePrefix,
      limits,
      random,
      trials = unlimitedTrials,
      rejections = new KnownRejections(),
      isolatesRejections,
      uncertain,
    }: StreamOptions,
    trialRules: TrialRules,
  ) {
    this.#source = source;
    this.#attribution = attribution;
    this.#clock = clock;
    this.#noncePrefix = noncePrefix;
    this.#limits = limits;
    this.lists = new NameLists(this.types, source, limits);
    this.#trialLimits = { random, trials };
    this.#rejections = rejections;
    this.#isolatesRejections = isolatesRejections ?? true;
    this.#uncertain = uncertain;
    this.#pass = new Pass(source, attribution, clock);
    this.#warming = new Warming(this.types, this.#pass);
    this.#trials = new Trials(this.types, trialRules);
    this.#unserved = new UnservedTypes(limits.types);
  }

  /** Changes the subscription. Reports whether a response may be due. */
  protected abstract subscribe(type: TypeState, request: XdsRequest, first: boolean, stale: boolean): Sliced<boolean>;

  /**
   * Converts a selection in terms of delta to the content of this variant's response; undefined if there is nothing to
   * send.
   */
  protected abstract project(type: TypeState, selection: Selection): Sliced<Selection | undefined>;

  /** Reports whether responses of a type list all subscribed resources: what they lack is removed from the client. */
  protected abstract isFullState(type: TypeState): boolean;

  /**
   * Reports whether clusters that are sent again may be updates, after which the client waits for endpoints. It
   * requests the endpoints of new clusters.
   */
  protected mayWarm({ acknowledged, reconnected, doubts }: TypeState): boolean {
    return this.variant === "sotw" || acknowledged !== undefined || reconnected || doubts?.hasEarlier === true;
  }

  /**
   * Applies a request. Returns undefined if the source does not serve its type: a first request is answered with an
   * empty response, and nothing is kept. Until this is complete, no other request may be applied, and `next` must not
   * be called.
   *
   * @param longNames names that the client subscribes to or has, and that are too long to exist
   * @throws ConnectError `ResourceExhausted` if the stream exceeds a limit
   */
  *request(request: XdsRequest, longNames: readonly string[] = []): Sliced<Receipt | undefined> {
    let type = this.types.get(request.typeUrl);
    const first = type === undefined;
    if (type === undefined) {
      if (!this.#accepts(request)) return undefined;
      this.types.set(request.typeUrl, (type = new TypeState(request.typeUrl)));
    }
    const before = type.unmatchedBytes;
    const now = this.#clock.now();
    const variantRules = {
      rejections: this.#rejections,
      isFullState: this.isFullState(type),
      isIncremental: this.variant === "delta",
      isIsolated: this.#isolatesRejections,
    };
    const receipt = yield* receive(type, request, { now, ...this.#trialLimits, ...variantRules });
    if (receipt.nack !== undefined) yield* this.#warmUnanswered(type);
    if (yield* this.subscribe(type, request, first, receipt.stale)) this.#mark(type, "request");
    else if (!type.subscribed) {
      type.forget();
      this.#attribution.unmarked(type.typeUrl);
    }
    if (request.names.size > 0) yield* this.lists.check(type, before);
    if (longNames.length > 0 && this.variant === "delta") {
      type.longNames = [...type.longNames, ...longNames];
      checkBytes(this.types, this.#limits);
      this.#mark(type, "request");
    }
    return receipt;
  }

  /** Estimated size of the names that only this stream has, with their resources, in bytes. */
  get unmatchedBytes(): number {
    return unmatchedBytesOf(this.types);
  }

  /** Reports whether the client may subscribe to another type. */
  #accepts(request: XdsRequest): boolean {
    if (!this.#source.serves(request.typeUrl)) {
      this.#unserved.addRequest(request);
      return false;
    }
    const { types } = this.#limits;
    if (this.types.size >= types) throw tooMuch(`more than ${types} resource types`);
    return true;
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
    return this.#unserved.due || this.retryAt <= this.#clock.now();
  }

  /**
   * Time at which resources of rejected responses are due to be sent again, in milliseconds since the epoch; Infinity
   * if there are none.
   */
  get retryAt(): number {
    return this.#trials.dueAt(this.#clock.now());
  }

  /**
   * Returns the next response, or undefined if none is due. Until this is complete, no request may be applied; changes
   * may be reported.
   *
   * @throws ConnectError `ResourceExhausted` if the stream exceeds a limit
   */
  *next(): Sliced<XdsResponse | undefined> {
    for (;;) {
      if (this.#pass.done) {
        const trial = yield* this.#nextTrial();
        if (trial !== undefined) return trial;
        this.#pass.begin(this.types.values());
      }
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
    const typeUrl = this.#unserved.next();
    if (typeUrl === undefined) return undefined;
    const [now, version] = [this.#clock.now(), complete(versionOf(ResourceSet.empty, new Digest()))];
    return {
      typeUrl,
      nonce: this.#nextNonce(),
      version,
      selection: nothing,
      trigger: { reason: "request", since: now },
      shown: { changes: [] },
      startedAt: now,
      buildMs: 0,
    };
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
    if (typeUrl === clusterType) yield* this.#warming.warm(this.#mayBeUpdated(type, selected), reconnected, trigger);
    else if (typeUrl === endpointType) this.#warming.endpointsSent();
    const projected = yield* this.project(type, selected);
    const missing = type.longNames.filter((name) => !type.wildcard || !set.has(name));
    type.longNames = [];
    if (projected === undefined && !type.mustRespond && missing.length === 0) return undefined;
    type.mustRespond = false;
    const sent = yield* this.#sent(type, projected ?? nothing, { set, trigger, shown });
    const { selection } = sent;
    if (missing.length > 0)
      Object.assign(sent, {
        selection: { ...selection, resources: selection.resources, removed: [...selection.removed, ...missing] },
      });
    return { ...sent, startedAt, buildMs: tookMs + this.#clock.now() - composedFrom };
  }

  /** Records a response as sent. */
  *#sent(
    type: TypeState,
    selection: Selection,
    { set, ...of }: Pick<SentResponse, "trigger" | "shown" | "isRetry"> & { readonly set: ResourceSet },
  ): Sliced<Omit<XdsResponse, "startedAt" | "buildMs">> {
    const { typeUrl } = type;
    const nonce = this.#nextNonce();
    const whole = yield* versionOf(set, type.outside.digest);
    const version = type.doubts === undefined ? whole : `${whole}.${type.doubts.changes}`;
    type.last = { nonce, version, at: this.#clock.now() };
    type.unanswered.add({ ...type.last, ...of, selection, set });
    return { typeUrl, nonce, version, selection, ...of };
  }

  /** Returns the next response that sends resources of rejected responses again; undefined if none is due. */
  *#nextTrial(): Sliced<XdsResponse | undefined> {
    const startedAt = this.#clock.now();
    const due = yield* this.#trials.next(startedAt);
    if (due === undefined) return undefined;
    const { type, doubts, set, trial } = due;
    yield* doubts.sending(trial.resources, []);
    const trigger = { reason: "request", since: startedAt } as const;
    if (type.typeUrl === clusterType && this.mayWarm(type))
      yield* this.#warming.warm(this.#mayBeUpdated(type, trial), false, trigger);
    // A full state may lack resources that the client has, and have none that are sent again.
    if (trial.resources.length === 0) type.mustRespond = true;
    const selection = (yield* this.project(type, trial)) ?? nothing;
    type.mustRespond = false;
    const sent = yield* this.#sent(type, selection, { set, trigger, shown: trial.shown, isRetry: true });
    doubts.tried(sent.nonce, startedAt);
    return { ...sent, startedAt, buildMs: this.#clock.now() - startedAt };
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
      const uncertain = type.known === undefined ? this.uncertainOf(type) : nothingUncertain;
      const awaited = typeUrl === endpointType ? this.#warming.awaited : noNames;
      const forced = uncertain.size === 0 ? awaited : new Set([...awaited, ...uncertain.keys()]);
      const isFailing = (name: string): boolean => this.#source.isFailing(typeUrl, name);
      const sure = yield* select(type, set, { lookup: lookupName, isFailing }, forced);
      type.reconnected ||= uncertain.size > 0;
      const selected = uncertain.size === 0 ? sure : withUncertain(type, sure, uncertain, this.#trialLimits);
      return type.doubts === undefined ? selected : yield* withoutDoubts(type, selected);
    } catch (error) {
      if (error instanceof ConnectError && error.code === Code.ResourceExhausted) throw error;
      type.failed = true;
      this.#source.failed(typeUrl, error);
      return undefined;
    }
  }

  /** Returns the names of a type that the client may have or not, although it does not list them. */
  protected uncertainOf({ typeUrl, last }: TypeState): UncertainResources {
    return (last === undefined ? this.#uncertain?.get(typeUrl) : undefined) ?? nothingUncertain;
  }

  /** As {@link uncertainNames}. */
  uncertainNames(max: number): UncertainNames {
    return uncertainNames(this.types, this.#uncertain, (type) => this.uncertainOf(type), max);
  }

  /** Drops what the source keeps for names that are not in the sets. The stream has ended. */
  close(): void {
    this.#trialLimits.trials.close();
    for (const { typeUrl, outside, lookedUp } of this.types.values()) {
      for (const [name] of outside) this.#source.unsubscribed(typeUrl, name);
      for (const name of lookedUp.clear()) if (!outside.has(name)) this.#source.unsubscribed(typeUrl, name);
    }
  }

  /** Drops what was kept for a name that the client has unsubscribed from. */
  protected unsubscribed(type: TypeState, name: string): void {
    const wasLookedUp = type.lookedUp.has(name);
    type.lookedUp.take(name);
    type.doubts?.delete(name);
    type.keptFailing.delete(name);
    if (type.outside.delete(name) || wasLookedUp) this.#source.unsubscribed(type.typeUrl, name);
  }

  /**
   * Returns the clusters that a response may update on the client: those that it sends and, in a full state, those in
   * doubt, of which the client may have another version than the response lists.
   */
  #mayBeUpdated(type: TypeState, { resources }: Pick<Selection, "resources">): Selection["resources"] {
    if (type.doubts === undefined || !this.isFullState(type)) return resources;
    return [...resources, ...Array.from(type.doubts, ([, { resource }]) => resource)];
  }

  /** Sends the endpoints of clusters again that an unanswered full state may update after a rejected one. */
  *#warmUnanswered(type: TypeState): Sliced<void> {
    if (type.typeUrl !== clusterType || type.unanswered.size === 0 || !this.isFullState(type)) return;
    const endpoints = yield* this.#warming.clustersSent(this.#mayBeUpdated(type, nothing), false);
    if (endpoints !== undefined) this.#mark(endpoints, "request");
  }
}

const noNames: ReadonlySet<string> = new Set();
const nothing: Selection = { resources: [], removed: [] };
