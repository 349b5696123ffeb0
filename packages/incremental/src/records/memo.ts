import type { Computation } from "./computation.js";
import { noPath, type Path } from "./path.js";

/** A node of the dependency graph: an input or a memo. */
export abstract class GraphNode {
  /** The revision in which its value last changed; 0 if it never did. */
  changedAt: number;
  dependents: Dependents = null;
  /** The last pass that visited it: see `Workspace`. */
  mark = 0;

  constructor(changedAt: number) {
    this.changedAt = changedAt;
  }
}

/**
 * An entry of a memo's recorded reads, in order of first reading. A number is a question that the query itself asked.
 */
export type Dependency = GraphNode | number;

/** The memos that read a node: none, one, a few, or many. */
export type Dependents = null | Memo | Memo[] | Set<Memo>;

/** Valid at the current revision, with all its dependencies. */
export const valid = 0;
/** A transitive dependency may have changed: the memo must be verified. */
export const unverified = 1;
/** An input that the computation read directly has changed. */
export const stale = 2;
export type Validity = typeof valid | typeof unverified | typeof stale;

/** In its call's decision tree. */
export const current = 0;
/** In a tree that was replaced; kept to be verified and moved for other clients, and to share its result. */
export const superseded = 1;
/** Dropped from the records. */
export const evicted = 2;
export type Standing = typeof current | typeof superseded | typeof evicted;

/** The client of an answer's memo: a `Client`. An interface, because clients refer to memos. */
export interface AnsweringClient {
  /** Identifies the state of its answers: changes whenever an answer may have changed. */
  state: number;
  invalidateAnswer(question: number): void;
  revalidateAnswer(question: number): void;
}

/** A memo's use as a client's result: a `Root`. An interface, because roots refer to memos. */
export interface MemoRoot {
  readonly nextOfMemo: MemoRoot | null;
}

/**
 * A result with the record of its computation: of a query's call for one class of clients, or of a question for one
 * client (`client` is set, and `value` is the number of the answer).
 */
export class Memo extends GraphNode {
  value: unknown;
  /** `failed`, `validity`, `standing` and `queued` as bits: there are many memos. */
  #flags = 0;
  /** The revision in which it was last verified or computed. */
  verifiedAt: number;
  dependencies: readonly Dependency[] = noDependencies;
  path: Path = noPath;
  /** The first of the roots that use it. */
  roots: MemoRoot | null = null;
  /** The revision since which it is unused. */
  unusedSince = 0;
  /** 0 until computed. */
  fingerprint = 0;

  constructor(
    readonly owner: Computation,
    readonly client: AnsweringClient | null,
    value: unknown,
    revision: number,
  ) {
    super(revision);
    this.value = value;
    this.verifiedAt = revision;
  }

  /** True if `value` was thrown. */
  get failed(): boolean {
    return (this.#flags & failedBit) !== 0;
  }
  set failed(failed: boolean) {
    this.#flags = failed ? this.#flags | failedBit : this.#flags & ~failedBit;
  }

  get validity(): Validity {
    return (this.#flags & validityBits) as Validity;
  }
  set validity(validity: Validity) {
    this.#flags = (this.#flags & ~validityBits) | validity;
  }

  get standing(): Standing {
    return ((this.#flags & standingBits) >> standingShift) as Standing;
  }
  set standing(standing: Standing) {
    this.#flags = (this.#flags & ~standingBits) | (standing << standingShift);
  }

  /** True if it is queued to be dropped if it is still unused. */
  get queued(): boolean {
    return (this.#flags & queuedBit) !== 0;
  }
  set queued(queued: boolean) {
    this.#flags = queued ? this.#flags | queuedBit : this.#flags & ~queuedBit;
  }
}

const validityBits = 0b11;
const standingShift = 2;
const standingBits = 0b11 << standingShift;
const failedBit = 1 << 4;
const queuedBit = 1 << 5;

export const noDependencies: readonly Dependency[] = [];

/** Reports whether a memo is used by another memo or a client's result, or is already dropped. */
export function isUsed(memo: Memo): boolean {
  return memo.dependents !== null || memo.roots !== null || memo.standing === evicted;
}
