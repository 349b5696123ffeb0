import { CycleError } from "../errors.js";
import type { Call } from "../records/call.js";
import type { Client } from "../records/client.js";
import { current, Memo, unverified, valid, type Dependency } from "../records/memo.js";
import { ActiveComputation } from "./active-stack.js";
import { relink } from "./edges.js";
import type { Engine } from "./engine.js";
import { copyMemo, execute, insert, validate } from "./execute.js";
import { find } from "./match.js";
import { mergedPath } from "./merged-path.js";

/**
 * Returns the valid memo of a call for the active client: found, verified, or computed by running the query. An
 * error that the query throws is its result. A cycle is recomputed instead of verified, because its record contains the
 * reads of every call on it. Throws `CycleError` if the call is on a cycle whose outermost call is further out.
 */
export function fetch(engine: Engine, call: Call): Memo {
  if (call.activeAt >= 0) engine.active.failCycle(call.activeAt);
  const client = engine.active.client as Client;
  const memo = find(engine, client, call);
  if (memo === null) return execute(engine, client, call, null);
  if (memo.validity === valid) {
    engine.counters.hits++;
    return memo;
  }
  const verifiable = memo.validity === unverified && !(memo.value instanceof CycleError);
  return (verifiable ? verify(engine, client, call, memo) : null) ?? execute(engine, client, call, memo);
}

/**
 * Verifies the dependencies in the order in which they were read, so that only queries run that a recomputation would
 * run, too. Returns null if one changed. If a call now asks other questions but has the same result, only the path is
 * replaced.
 */
function verify(engine: Engine, client: Client, call: Call, memo: Memo): Memo | null {
  const computation = new ActiveComputation(call);
  const at = engine.active.push(computation);
  try {
    const dependencies = verifiedDependencies(engine, memo);
    if (dependencies === null) return null;
    engine.counters.verifications++;
    const path = dependencies === memo.dependencies ? memo.path : mergedPath(engine, client, at, dependencies);
    if (memo.standing === current && path === memo.path) return validate(engine, memo, dependencies);
    const moved = copyMemo(memo, engine.revision);
    relink(engine, moved, dependencies);
    return insert(engine, moved, path);
  } catch (error) {
    if (computation.poison === null) throw error;
    return null;
  } finally {
    engine.active.pop(at);
  }
}

/**
 * Returns the memo's dependencies, with those replaced whose call moved to another memo with the same result; null if
 * one changed.
 */
function verifiedDependencies(engine: Engine, { dependencies, verifiedAt }: Memo): readonly Dependency[] | null {
  let moved: Dependency[] | null = null;
  for (let i = 0; i < dependencies.length; i++) {
    const dependency = dependencies[i] as Dependency;
    if (typeof dependency === "number") continue;
    if (dependency.changedAt > verifiedAt) return null;
    if (!(dependency instanceof Memo) || dependency.validity === valid) continue;
    const now = fetch(engine, dependency.owner as Call);
    if (now === dependency) {
      if (dependency.changedAt > verifiedAt) return null;
    } else if (now.failed === dependency.failed && Object.is(now.value, dependency.value)) {
      moved ??= dependencies.slice();
      moved[i] = now;
    } else return null;
  }
  return moved ?? dependencies;
}
