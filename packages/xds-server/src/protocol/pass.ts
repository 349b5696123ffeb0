import { ResourceSet } from "@istiod/resources";
import type { Clock } from "../clock.js";
import type { ClientSource } from "./client-source.js";
import type { Trigger } from "./trigger.js";
import type { TypeState } from "./type-state.js";
import { pushRank } from "./types.js";

/** A type that is to be looked at, with what the source had of it when the pass began. */
export interface Step {
  readonly type: TypeState;
  readonly set: ResourceSet;
  readonly due: Trigger;
  readonly revision: number | undefined;
  readonly startedAt: number;
  /** Milliseconds that the source took. */
  readonly tookMs: number;
}

/**
 * The types that are due at one moment, in push order, with their sets as they were then: so what is sent is consistent in itself. What comes later
 * waits for the next pass, so that frequent changes of an early type do not hold up the later ones.
 */
export class Pass {
  readonly #source: ClientSource;
  readonly #clock: Clock;
  #steps: Step[] = [];

  constructor(source: ClientSource, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  get over(): boolean {
    return this.#steps.length === 0;
  }

  /** What is still to be looked at of this type. */
  of(type: TypeState): Step | undefined {
    return this.#steps.find((step) => step.type === type);
  }

  /** Takes up all types that are due. */
  begin(types: Iterable<TypeState>): void {
    const due = [...types].filter((type) => type.due !== undefined);
    for (const type of due.sort((a, b) => pushRank(a.typeUrl) - pushRank(b.typeUrl))) {
      const why = type.due as Trigger;
      type.due = undefined;
      if (!type.subscribed && type.resend.size === 0) continue;
      const step = this.#step(type, why);
      if (step !== undefined) this.#steps.push(step);
    }
  }

  /** Takes up a type that was not due, before all others. */
  prepend(type: TypeState, due: Trigger): void {
    const step = this.#step(type, due);
    if (step !== undefined) this.#steps.unshift(step);
  }

  next(): Step | undefined {
    return this.#steps.shift();
  }

  #step(type: TypeState, due: Trigger): Step | undefined {
    const startedAt = this.#clock.now();
    try {
      type.failed = true;
      const set = this.#source.resources(type.typeUrl) ?? ResourceSet.empty;
      type.failed = false;
      return { type, set, due, revision: this.#source.revision(), startedAt, tookMs: this.#clock.now() - startedAt };
    } catch (error) {
      this.#source.failed(type.typeUrl, error);
      return undefined;
    }
  }
}
