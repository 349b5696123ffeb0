import type { ClientView } from "../client-view.js";
import type { Input } from "../inputs/input.js";
import { Call } from "../records/call.js";
import { Memo, suspect, valid, type Dependents } from "../records/memo.js";
import { noPath } from "../records/path.js";
import type { Question } from "../records/question.js";
import type { Root } from "../retention/roots.js";
import type { Engine } from "./engine.js";
import { markChanged } from "./mark.js";
import { resolve } from "./resolve.js";

/**
 * So many queries may run to find out how far a change gets. They would run anyway when views ask, but then some at a time; what is not found out
 * is taken to be affected.
 */
const mostRuns = 1000;

/**
 * Marks what changed inputs may affect, and gives the followed roots among it.
 *
 * Where somebody follows anything, it is found out how far the change really gets, as far as that is the same for all clients: results that ask
 * their client nothing are verified at once, and what was marked only on account of those that come out equal is valid as before.
 */
export function affectedBy(engine: Engine, changed: ReadonlySet<Input>): readonly Root[] {
  const marked = markChanged(changed);
  const doubts = doubted(marked);
  const client = engine.followed === 0 ? null : someFollower(marked, doubts);
  if (client === null) return [];
  const affected = new Affected(engine);
  engine.client = client;
  client.reach(engine.questions.byId.length);
  try {
    for (const input of changed) affected.reach(input.dependents);
    affected.spread(marked);
  } catch {
    // A breakdown, such as a stack overflow, is no result: everything is made anew, and was followed in vain.
    engine.forget();
    return [];
  } finally {
    engine.client = null;
  }
  affected.relieve(marked, doubts);
  return affected.roots;
}

/** The states of clients before their answers came into doubt. */
type Doubts = ReadonlyMap<ClientView<unknown>, number>;

function doubted(marked: readonly Memo[]): Doubts {
  const states = new Map<ClientView<unknown>, number>();
  for (const { client, owner } of marked) {
    if (client === null) continue;
    if (!states.has(client)) states.set(client, client.state);
    client.doubt((owner as Question).id);
  }
  return states;
}

function someFollower(marked: readonly Memo[], doubts: Doubts): ClientView<unknown> | null {
  for (const { holders } of marked)
    for (let root = holders; root !== null; root = root.nextHolder) if (root.followed) return root.client;
  for (const client of doubts.keys()) for (const root of client.roots()) if (root.followed) return client;
  return null;
}

class Affected {
  readonly roots: Root[] = [];
  readonly #reached = new Set<Memo>();
  readonly #waiting: Memo[] = [];
  readonly #revision: number;
  readonly #until: number;

  constructor(readonly engine: Engine) {
    this.#revision = engine.revision;
    this.#until = engine.recomputations + mostRuns;
  }

  reach(dependents: Dependents): void {
    if (dependents === null) return;
    if (dependents instanceof Memo) this.#add(dependents);
    else for (const memo of dependents) this.#add(memo);
  }

  spread(marked: readonly Memo[]): void {
    do {
      this.#drain();
      // On a cycle, what is computed anew on the way to another need not depend on what it depended on.
      for (const memo of marked) if (memo.changedAt === this.#revision) this.#add(memo);
    } while (this.#waiting.length > 0);
  }

  #drain(): void {
    for (let memo = this.#waiting.pop(); memo !== undefined; memo = this.#waiting.pop()) {
      if (this.#comesOutEqual(memo)) continue;
      if (memo.client !== null) this.#nameThoseThatAsk(memo.client, (memo.owner as Question).id);
      for (let root = memo.holders; root !== null; root = root.nextHolder) this.#name(root);
      this.reach(memo.dependents);
    }
  }

  /** What was marked and not reached is valid: nothing that it depends on has changed. */
  relieve(marked: readonly Memo[], doubts: Doubts): void {
    const changed = new Set<ClientView<unknown>>();
    for (const memo of marked) {
      if (this.#reached.has(memo)) {
        if (memo.client !== null) changed.add(memo.client);
        continue;
      }
      if (memo.validity === suspect) memo.validity = valid;
      memo.client?.trust((memo.owner as Question).id);
    }
    for (const [client, state] of doubts) if (!changed.has(client)) client.state = state;
  }

  #add(memo: Memo): void {
    if (this.#reached.has(memo)) return;
    this.#reached.add(memo);
    this.#waiting.push(memo);
  }

  #comesOutEqual(memo: Memo): boolean {
    const { owner, path, dependents, holders } = memo;
    if (!(owner instanceof Call) || path !== noPath || this.engine.recomputations > this.#until) return false;
    if (dependents === null && holders === null) return true;
    const now = resolve(this.engine, owner);
    if (now.holders === null && now.dependents === null) this.engine.retention.unused(now, this.#revision);
    return now === memo && memo.changedAt !== this.#revision;
  }

  #nameThoseThatAsk(client: ClientView<unknown>, question: number): void {
    for (const root of client.roots())
      if (root.namedAt !== this.#revision && asks(root.memo, question)) this.#name(root);
  }

  #name(root: Root): void {
    if (!root.followed || root.namedAt === this.#revision) return;
    root.namedAt = this.#revision;
    this.roots.push(root);
  }
}

function asks({ path: { steps } }: Memo, question: number): boolean {
  for (let i = 0; i < steps.length; i += 2) if (steps[i] === question) return true;
  return false;
}
