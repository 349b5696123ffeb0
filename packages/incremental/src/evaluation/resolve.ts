import type { ClientView } from "../client-view.js";
import { CycleError, IncrementalError } from "../errors.js";
import { Input } from "../inputs/input.js";
import type { Call } from "../records/call.js";
import { anyMemo, insertMemo } from "../records/decision-tree.js";
import { current, Memo, suspect, valid, type Dependency } from "../records/memo.js";
import type { Path } from "../records/path.js";
import type { Question } from "../records/question.js";
import { Activation, enter, failCycle, leave } from "./activation.js";
import type { Engine } from "./engine.js";
import { Frame } from "./frame.js";
import { link, relink } from "./links.js";
import { find } from "./match.js";
import { mergedPath } from "./merged-path.js";
import { notePrint, sameOutcome, share } from "./outcome.js";

/**
 * The valid memo of a call for the client whose call is under way: found, verified, or made by running the query. What the query
 * throws is its result. A cycle is not verified but run through again: its record holds the reads of all that is on it. Throws `CycleError` where the call is on a cycle whose outermost call is further out.
 */
export function resolve(engine: Engine, call: Call): Memo {
  if (call.activeAt >= 0) failCycle(engine, call.activeAt);
  const client = engine.client as ClientView<unknown>;
  const memo = find(engine, client, call);
  if (memo === null) return run(engine, client, call, null);
  if (memo.validity === valid) {
    engine.hits++;
    return memo;
  }
  const checked =
    memo.validity === suspect && !(memo.value instanceof CycleError) ? verify(engine, client, call, memo) : null;
  return checked ?? run(engine, client, call, memo);
}

/**
 * Checks the dependencies in the order in which they were read, so that nothing is computed that a new run would not compute too.
 * The memo stands if none changed. Where a call now asks its client something else but gives the same result, only the path is new.
 */
function verify(engine: Engine, client: ClientView<unknown>, call: Call, memo: Memo): Memo | null {
  const activation = new Activation(call);
  const at = enter(engine, activation);
  const since = memo.verifiedAt;
  const dependencies = memo.dependencies;
  let moved: Dependency[] | null = null;
  try {
    for (let i = 0; i < dependencies.length; i++) {
      const dependency = dependencies[i] as Dependency;
      if (typeof dependency === "number") continue;
      if (dependency.changedAt > since) return null;
      if (dependency instanceof Input || dependency.validity === valid) continue;
      const now = resolve(engine, dependency.owner as Call);
      if (now === dependency) {
        if (dependency.changedAt > since) return null;
      } else if (now.failed === dependency.failed && Object.is(now.value, dependency.value)) {
        moved ??= dependencies.slice();
        moved[i] = now;
      } else return null;
    }
    engine.verifications++;
    const path = moved === null ? memo.path : mergedPath(engine, client, at, moved);
    if (memo.standing === current && path === memo.path) return renew(engine, memo, moved ?? dependencies);
    const next = copy(memo, engine.revision);
    relink(engine, next, moved ?? dependencies);
    return place(engine, next, path);
  } catch (error) {
    if (activation.poison === null) throw error;
    return null;
  } finally {
    leave(engine, at);
  }
}

function run(engine: Engine, client: ClientView<unknown>, call: Call, previous: Memo | null): Memo {
  const like = previous ?? (call.tree === null ? null : anyMemo(call.tree));
  const frame = new Frame(engine, call, client, like);
  const outer = engine.frame;
  const at = enter(engine, frame);
  engine.frame = frame;
  engine.recomputations++;
  if (previous !== null) engine.replacements++;
  let value: unknown;
  let failed = false;
  try {
    value = call.query.compute(frame, call.arg as never);
    refusePromise(call, value);
  } catch (error) {
    if (overflowed(error)) engine.broken = true;
    value = error;
    failed = true;
  }
  engine.frame = outer;
  leave(engine, at);
  if (engine.broken) throw failed ? value : new IncrementalError("broken", `${call.label}: a call below broke off`);
  const dependencies = frame.dependencies();
  const path = frame.path();
  if (frame.poison !== null) {
    value = frame.poison.error;
    failed = true;
    if (frame.poison.head !== at) {
      const caller = engine.stack[at - 1];
      if (caller instanceof Frame) caller.absorb(dependencies);
      else engine.retention.abandon(engine, dependencies);
      if (call.memos === 0) call.home.drop(call);
      throw value;
    }
  }
  return settle(engine, call, previous, path, dependencies, value, failed);
}

function settle(
  engine: Engine,
  call: Call,
  previous: Memo | null,
  path: Path,
  dependencies: readonly Dependency[],
  value: unknown,
  failed: boolean,
): Memo {
  const same = previous !== null && sameOutcome(call.query, previous, value, failed);
  if (previous !== null && previous.standing === current && previous.path === path) {
    if (!same) {
      previous.value = value;
      previous.failed = failed;
      previous.changedAt = engine.revision;
      share(call, previous);
    }
    return renew(engine, previous, dependencies);
  }
  const memo = same ? copy(previous, engine.revision) : new Memo(call, null, value, engine.revision);
  if (!same) {
    memo.failed = failed;
    share(call, memo);
  }
  link(engine, memo, dependencies);
  return place(engine, memo, path);
}

function renew(engine: Engine, memo: Memo, dependencies: readonly Dependency[]): Memo {
  memo.validity = valid;
  memo.verifiedAt = engine.revision;
  relink(engine, memo, dependencies);
  return memo;
}

/** A memo with the same outcome, for another place in the tree. */
function copy(memo: Memo, revision: number): Memo {
  const next = new Memo(memo.owner, null, memo.value, revision);
  next.failed = memo.failed;
  next.changedAt = memo.changedAt;
  notePrint(memo.owner as Call, next, memo);
  return next;
}

/** Puts a new memo into the records. */
function place(engine: Engine, memo: Memo, path: Path): Memo {
  const call = memo.owner as Call;
  memo.path = path;
  if (path.memos++ === 0)
    for (let i = 0; i < path.steps.length; i += 2) question(engine, path.steps[i] as number).paths++;
  call.memos++;
  engine.memos++;
  const superseded = insertMemo(call, memo);
  if (superseded !== null) engine.retention.superseded(superseded);
  return memo;
}

function question(engine: Engine, id: number): Question {
  return engine.questions.byId[id] as Question;
}

/** Whether an error says that the call stack is full: it depends on who called, so it is nobody's result. */
export function overflowed(error: unknown): boolean {
  return error instanceof RangeError && error.message.includes("call stack");
}

/** Throws an `IncrementalError` with code `purity` for a function that is not synchronous. */
export function refusePromise(owner: Call | Question, value: unknown): void {
  if (value instanceof Promise) {
    value.catch(() => undefined);
    throw new IncrementalError("purity", `${owner.label}: gave a promise; queries and facts are synchronous`);
  }
}
