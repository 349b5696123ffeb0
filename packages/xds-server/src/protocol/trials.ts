import { comparePushOrder, type ResourceSet } from "@istiod/resources";
import type { Sliced } from "../sliced.js";
import type { Doubts, Trial } from "./doubts.js";
import type { TypeState } from "./type-state.js";
import { hasResource } from "./uncertain-resources.js";

/** Rules of a variant of the protocol for responses that send resources of rejected responses again. */
export interface TrialRules {
  /** Maximum number of unanswered ones of a type. */
  readonly maxTrials: number;
  /** Reports whether one of a type may be sent before other responses are answered. */
  mayTry(type: TypeState): boolean;
}

/** A trial that is due. */
export interface DueTrial {
  readonly type: TypeState;
  readonly doubts: Doubts;
  /** The set that the client was last sent. */
  readonly set: ResourceSet;
  readonly trial: Trial;
}

/** The responses of a stream that send resources of rejected responses again. */
export class Trials {
  readonly #types: ReadonlyMap<string, TypeState>;
  readonly #rules: TrialRules;

  constructor(types: ReadonlyMap<string, TypeState>, rules: TrialRules) {
    this.#types = types;
    this.#rules = rules;
  }

  /** Returns the time at which the next one is due, in milliseconds since the epoch; Infinity if there is none. */
  dueAt(now: number): number {
    let at = Infinity;
    for (const type of this.#types.values()) if (type.doubts !== undefined) at = Math.min(at, this.#dueAt(type, now));
    return at;
  }

  /** Returns the first in push order that is due; undefined if none is. */
  *next(now: number): Sliced<DueTrial | undefined> {
    const doubtful: TypeState[] = [];
    for (const type of this.#types.values()) if (type.doubts !== undefined) doubtful.push(type);
    for (const type of doubtful.sort((a, b) => comparePushOrder(a.typeUrl, b.typeUrl))) {
      if (this.#dueAt(type, now) > now) continue;
      const { doubts, known: set } = type;
      if (doubts === undefined || set === undefined) continue;
      const trial = yield* doubts.next(now, (name) => !type.covers(name) || !hasResource(type, name));
      if (trial !== undefined) return { type, doubts, set, trial };
      if (doubts.isEmpty) type.doubts = undefined;
    }
    return undefined;
  }

  #dueAt(type: TypeState, now: number): number {
    if (type.doubts === undefined || type.known === undefined || !this.#rules.mayTry(type)) return Infinity;
    return type.doubts.dueAt(now, this.#rules.maxTrials);
  }
}
