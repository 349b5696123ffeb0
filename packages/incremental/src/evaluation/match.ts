import { CycleError } from "../errors.js";
import type { Call } from "../records/call.js";
import type { Client } from "../records/client.js";
import { anyMemo, Branch, type Node } from "../records/decision-tree.js";
import type { Memo } from "../records/memo.js";
import type { Path } from "../records/path.js";
import { ActiveComputation } from "./active-stack.js";
import type { Engine } from "./engine.js";

/**
 * Maximum number of searches. Computing an answer may call the same query, so the search is repeated; beyond the limit
 * the query runs instead.
 */
const attempts = 8;

/**
 * Returns the memo of the client's class, valid or not: from the call's tree, else from its superseded trees.
 */
export function find(engine: Engine, client: Client, call: Call): Memo | null {
  for (let attempt = 1; ; attempt++) {
    const edits = call.edits;
    let memo = call.tree === null ? null : descend(engine, client, call, call.tree);
    if (memo === null && call.superseded !== null && call.edits === edits) {
      for (const tree of call.superseded) {
        memo = descend(engine, client, call, tree);
        if (memo !== null || call.edits !== edits) break;
      }
    }
    if (call.edits === edits) return memo;
    if (attempt === attempts) return null;
  }
}

/** Reports whether the client's answers are those of the path. */
export function matches(engine: Engine, client: Client, call: Call, path: Path): boolean {
  return path.matchedState === client.state || compare(engine, client, call, path, path.steps.length);
}

function descend(engine: Engine, client: Client, call: Call, root: Node): Memo | null {
  let node = root;
  while (node instanceof Branch) {
    let answer = client.answers[node.question] as number;
    if (answer <= 0) {
      if (!compare(engine, client, call, anyMemo(node).path, node.at)) return null;
      answer = speculate(engine, client, node.question);
      if (answer === 0) return null;
    }
    const child = node.child(answer);
    if (child === undefined) return null;
    node = child;
  }
  return matches(engine, client, call, node.path) ? node : null;
}

function compare(engine: Engine, client: Client, call: Call, path: Path, end: number): boolean {
  const edits = call.edits;
  const steps = path.steps;
  for (let i = 0; i < end; i += 2) {
    let answer = client.answers[steps[i] as number] as number;
    if (answer <= 0) answer = speculate(engine, client, steps[i] as number);
    if (answer !== steps[i + 1]) return false;
  }
  if (call.edits !== edits) return false;
  if (end === steps.length) path.matchedState = client.state;
  return true;
}

/**
 * Returns the number of an answer that is needed to find a memo, before it is known whether the query would ask for it
 * now; 0 if there is none. Facts are pure, so an unneeded answer costs only time. A cycle found this way may not
 * exist, and is not recorded.
 */
function speculate(engine: Engine, client: Client, id: number): number {
  const question = engine.store.questions.byId[id];
  if (question === undefined || question.activeAt >= 0) return 0;
  const at = engine.active.push(new ActiveComputation(null));
  try {
    return engine.evaluator.answer(engine, client, question);
  } catch (error) {
    if (error instanceof CycleError && !engine.active.broken) return 0;
    engine.active.broken = true;
    throw error;
  } finally {
    engine.active.pop(at);
  }
}
