import { IncrementalError } from "../errors.js";
import type { Call } from "../records/call.js";
import type { Client } from "../records/client.js";
import { anyMemo } from "../records/decision-tree.js";
import { current, Memo, valid, type Dependency } from "../records/memo.js";
import type { Path } from "../records/path.js";
import { link, relink } from "./edges.js";
import type { Engine } from "./engine.js";
import { equalsResult, indexCopy, shareEqualValue } from "./equal-results.js";
import { Frame } from "./frame.js";
import { recordOverflow } from "./record-overflow.js";
import { isStackOverflow } from "./stack-overflow.js";
import { rejectPromise } from "./purity.js";

interface Outcome {
  readonly value: unknown;
  /** True if `value` was thrown. */
  readonly failed: boolean;
}

/**
 * Runs a call's query. Returns the memo of the result: `previous` if its path is unchanged, with its previous value if
 * the result is equal.
 */
export function execute(engine: Engine, client: Client, call: Call, previous: Memo | null): Memo {
  const { active, counters } = engine;
  const like = previous ?? (call.tree === null ? null : anyMemo(call.tree));
  const frame = new Frame(engine, call, client, like);
  const outer = active.running;
  const at = active.push(frame);
  active.running = frame;
  counters.recomputations++;
  if (previous !== null) counters.replacements++;
  let outcome = run(engine, call, frame);
  active.running = outer;
  active.pop(at);
  if (active.broken) {
    throw outcome.failed ? outcome.value : new IncrementalError("broken", `${call.label}: a call below failed halfway`);
  }
  const dependencies = frame.endDependencies();
  const path = frame.endPath();
  if (frame.poison !== null) {
    const { error, head } = frame.poison;
    outcome = { value: error, failed: true };
    if (head !== at) {
      const caller = active.at(at - 1);
      if (caller instanceof Frame) caller.addAll(dependencies);
      else engine.unused.addDependencies(dependencies, engine.revision);
      call.dropIfEmpty();
      throw error;
    }
  }
  return settle(engine, call, previous, path, dependencies, outcome);
}

function run(engine: Engine, call: Call, frame: Frame): Outcome {
  try {
    const value = call.query.compute(frame, call.arg as never);
    rejectPromise(call, value);
    return { value, failed: false };
  } catch (error) {
    if (isStackOverflow(error)) recordOverflow(engine, frame, error);
    return { value: error, failed: true };
  }
}

/**
 * Records the result of a run. An equal result is backdated: it keeps the object and the revision of the previous one.
 */
function settle(
  engine: Engine,
  call: Call,
  previous: Memo | null,
  path: Path,
  dependencies: readonly Dependency[],
  { value, failed }: Outcome,
): Memo {
  const equal = previous !== null && equalsResult(call.query, previous, value, failed);
  if (previous !== null && previous.standing === current && previous.path === path) {
    if (!equal) {
      previous.value = value;
      previous.failed = failed;
      previous.changedAt = engine.revision;
      shareEqualValue(call, previous);
    }
    return validate(engine, previous, dependencies);
  }
  const memo = equal ? copyMemo(previous, engine.revision) : new Memo(call, null, value, engine.revision);
  if (!equal) {
    memo.failed = failed;
    shareEqualValue(call, memo);
  }
  link(engine, memo, dependencies);
  return insert(engine, memo, path);
}

/** Marks a memo as valid at the current revision, with these dependencies. */
export function validate(engine: Engine, memo: Memo, dependencies: readonly Dependency[]): Memo {
  memo.validity = valid;
  memo.verifiedAt = engine.revision;
  relink(engine, memo, dependencies);
  return memo;
}

/** Returns a memo with the same result, to be inserted with another path. */
export function copyMemo(memo: Memo, revision: number): Memo {
  const copy = new Memo(memo.owner, null, memo.value, revision);
  copy.failed = memo.failed;
  copy.changedAt = memo.changedAt;
  indexCopy(memo.owner as Call, copy, memo);
  return copy;
}

/** Inserts a new memo into the store. */
export function insert(engine: Engine, memo: Memo, path: Path): Memo {
  const superseded = engine.store.insert(memo, path);
  if (superseded !== null) engine.unused.addSuperseded(superseded);
  return memo;
}
