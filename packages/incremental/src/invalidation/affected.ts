import type { Engine } from "../evaluation/engine.js";
import { fetch } from "../evaluation/fetch.js";
import type { Input } from "../inputs/input.js";
import { Call } from "../records/call.js";
import { clientOf, firstRoot, type Client, type Root } from "../records/client.js";
import { Memo, unverified, valid, type AnsweringClient, type Dependents } from "../records/memo.js";
import { noPath } from "../records/path.js";
import type { Question } from "../records/question.js";
import { markChanged } from "./mark.js";

/**
 * Maximum number of queries that run to verify the results that a change may affect. They would run anyway when views
 * call, but spread over time. Beyond the limit, results are reported as affected without being verified.
 */
const mostRuns = 1000;

/**
 * Invalidates the results that changed inputs may affect, and returns the followed results that may have changed.
 *
 * If any result is followed, results that depend on no fact are verified immediately. If such a result is unchanged,
 * results that depend on the change only through it become valid again.
 */
export function invalidate(engine: Engine, changed: ReadonlySet<Input>): readonly Root[] {
  const marked = markChanged(changed);
  const states = invalidateAnswers(marked);
  const client = engine.clients.followed === 0 ? null : firstFollower(marked, states);
  if (client === null) return [];
  const propagation = new Propagation(engine);
  engine.active.client = client;
  client.reserve(engine.store.questions.byId.length);
  try {
    for (const input of changed) propagation.reach(input.dependents);
    propagation.run(marked);
  } catch {
    // A failure that is not a result, such as a stack overflow, leaves the records incomplete: everything is
    // recomputed.
    engine.reset();
    return [];
  } finally {
    engine.active.client = null;
  }
  propagation.revalidateOthers(marked, states);
  return propagation.affected;
}

/** The states of clients before their answers were invalidated. */
type States = ReadonlyMap<AnsweringClient, number>;

function invalidateAnswers(marked: readonly Memo[]): States {
  const states = new Map<AnsweringClient, number>();
  for (const { client, owner } of marked) {
    if (client === null) continue;
    if (!states.has(client)) states.set(client, client.state);
    client.invalidateAnswer((owner as Question).id);
  }
  return states;
}

function firstFollower(marked: readonly Memo[], states: States): Client | null {
  for (const memo of marked) {
    for (let root = firstRoot(memo); root !== null; root = root.nextOfMemo) if (root.followed) return root.client;
  }
  for (const client of states.keys()) {
    for (const root of (client as Client).roots.values()) if (root.followed) return root.client;
  }
  return null;
}

/** The propagation of a change from inputs to the results that it reaches. */
class Propagation {
  readonly affected: Root[] = [];
  readonly #engine: Engine;
  readonly #reached = new Set<Memo>();
  readonly #pending: Memo[] = [];
  readonly #revision: number;
  readonly #lastRun: number;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#revision = engine.revision;
    this.#lastRun = engine.counters.recomputations + mostRuns;
  }

  reach(dependents: Dependents): void {
    if (dependents === null) return;
    if (dependents instanceof Memo) this.#add(dependents);
    else for (const memo of dependents) this.#add(memo);
  }

  run(marked: readonly Memo[]): void {
    do {
      this.#runPending();
      // On a cycle, a memo that is recomputed on the way to another may lose the dependency by which it is reached.
      for (const memo of marked) if (memo.changedAt === this.#revision) this.#add(memo);
    } while (this.#pending.length > 0);
  }

  /** Marks memos that were not reached as valid again, because none of their dependencies has changed. */
  revalidateOthers(marked: readonly Memo[], states: States): void {
    const changed = new Set<AnsweringClient>();
    for (const memo of marked) {
      const { client } = memo;
      if (this.#reached.has(memo)) {
        if (client !== null) changed.add(client);
        continue;
      }
      if (memo.validity === unverified) memo.validity = valid;
      client?.revalidateAnswer((memo.owner as Question).id);
    }
    for (const [client, state] of states) if (!changed.has(client)) client.state = state;
  }

  #add(memo: Memo): void {
    if (this.#reached.has(memo)) return;
    this.#reached.add(memo);
    this.#pending.push(memo);
  }

  #runPending(): void {
    for (let memo = this.#pending.pop(); memo !== undefined; memo = this.#pending.pop()) {
      if (this.#isUnchanged(memo)) continue;
      const client = clientOf(memo);
      if (client !== null) this.#addAskers(client, (memo.owner as Question).id);
      for (let root = firstRoot(memo); root !== null; root = root.nextOfMemo) this.#addAffected(root);
      this.reach(memo.dependents);
    }
  }

  /** Fetches a result that depends on no fact, and reports whether it is unchanged. Other results count as changed. */
  #isUnchanged(memo: Memo): boolean {
    const { owner, path, dependents, roots } = memo;
    const engine = this.#engine;
    if (!(owner instanceof Call) || path !== noPath || engine.counters.recomputations > this.#lastRun) return false;
    if (dependents === null && roots === null) return true;
    const now = fetch(engine, owner);
    engine.unused.addMemo(now, this.#revision);
    return now === memo && memo.changedAt !== this.#revision;
  }

  /** Adds the client's results whose path asks a question. */
  #addAskers(client: Client, question: number): void {
    for (const root of client.roots.values()) {
      if (root.affectedAt !== this.#revision && asks(root.memo, question)) this.#addAffected(root);
    }
  }

  #addAffected(root: Root): void {
    if (!root.followed || root.affectedAt === this.#revision) return;
    root.affectedAt = this.#revision;
    this.affected.push(root);
  }
}

function asks({ path: { steps } }: Memo, question: number): boolean {
  for (let i = 0; i < steps.length; i += 2) if (steps[i] === question) return true;
  return false;
}
