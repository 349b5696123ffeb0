import { comparePushOrder, ResourceSet } from "@istiod/resources";
import type { StreamAttribution } from "../attribution.js";
import type { Clock } from "@istiod/runtime";
import type { ClientSource } from "./client-source.js";
import type { Trigger } from "./trigger.js";
import type { TypeState } from "./type-state.js";

/** A type that was due when the pass began, with the source's set at that time. */
export interface Step {
  readonly type: TypeState;
  readonly set: ResourceSet;
  readonly trigger: Trigger;
  readonly startedAt: number;
  /** Milliseconds that the source took. */
  readonly tookMs: number;
}

/**
 * The types that are due at one moment, in push order, with their sets at that moment, so that the responses are
 * consistent with each other. Later changes wait for the next pass, so that frequent changes of an early type do not
 * hold up later types.
 */
export class Pass {
  readonly #source: ClientSource;
  readonly #attribution: StreamAttribution;
  readonly #clock: Clock;
  #steps: Step[] = [];
  #current: Step | undefined;

  constructor(source: ClientSource, attribution: StreamAttribution, clock: Clock) {
    this.#source = source;
    this.#attribution = attribution;
    this.#clock = clock;
  }

  /** Reports whether no step is left. */
  get done(): boolean {
    return this.#steps.length === 0;
  }

  /** Returns the current or remaining step of a type. */
  stepOf(type: TypeState): Step | undefined {
    return this.#current?.type === type ? this.#current : this.#steps.find((step) => step.type === type);
  }

  /** Adds a step for each due type. */
  begin(types: Iterable<TypeState>): void {
    const due: [TypeState, Trigger][] = [];
    for (const type of types) if (type.due !== undefined) due.push([type, type.due]);
    due.sort(([a], [b]) => comparePushOrder(a.typeUrl, b.typeUrl));
    for (const [type, trigger] of due) {
      type.due = undefined;
      if (type.subscribed || type.mustRespond || type.resend.size + type.longNames.length > 0)
        this.#add(type, trigger, (step) => this.#steps.push(step));
      else this.#attribution.unmarked(type.typeUrl);
    }
  }

  /**
   * Adds a step before all others.
   *
   * @param becauseOf the type whose response made it due, if the type was not due before
   */
  prepend(type: TypeState, trigger: Trigger, becauseOf?: string): void {
    this.#add(type, trigger, (step) => this.#steps.unshift(step), becauseOf);
  }

  /** Removes the first step and returns it. It is the current step until `finished` is called. */
  next(): Step | undefined {
    return (this.#current = this.#steps.shift());
  }

  /** Ends the current step. */
  finished(): void {
    this.#current = undefined;
  }

  #add(type: TypeState, trigger: Trigger, add: (step: Step) => void, becauseOf?: string): void {
    const startedAt = this.#clock.now();
    this.#attribution.read(type.typeUrl, becauseOf);
    let set: ResourceSet;
    try {
      type.failed = true;
      set = this.#source.resources(type.typeUrl, type.wildcard) ?? ResourceSet.empty;
      type.failed = false;
    } catch (error) {
      this.#source.failed(type.typeUrl, error);
      return;
    }
    add({ type, set, trigger, startedAt, tookMs: this.#clock.now() - startedAt });
  }
}
