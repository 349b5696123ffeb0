import type { ClientView } from "../client-view.js";
import type { Call } from "../records/call.js";
import { anyMemo, Branch, type Node } from "../records/decision-tree.js";
import type { Memo } from "../records/memo.js";
import type { Path } from "../records/path.js";
import { guess } from "./answer.js";
import type { Engine } from "./engine.js";

/** An answer may be made by computing this very call, so the search starts again; after this many times the query runs instead. */
const attempts = 8;

/** The memo of the client's class, valid or not: of the call's tree or, where that has none yet, of those that it superseded. */
export function find(engine: Engine, client: ClientView<unknown>, call: Call): Memo | null {
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

function descend(engine: Engine, client: ClientView<unknown>, call: Call, root: Node): Memo | null {
  let node = root;
  while (node instanceof Branch) {
    let answer = client.answers[node.question] as number;
    if (answer <= 0) {
      if (!compare(engine, client, call, anyMemo(node).path, node.at)) return null;
      answer = guess(engine, client, node.question);
      if (answer === 0) return null;
    }
    const child = node.child(answer);
    if (child === undefined) return null;
    node = child;
  }
  return matches(engine, client, call, node.path) ? node : null;
}

/** Whether the client answers as the path says. */
export function matches(engine: Engine, client: ClientView<unknown>, call: Call, path: Path): boolean {
  return path.matchedState === client.state || compare(engine, client, call, path, path.steps.length);
}

function compare(engine: Engine, client: ClientView<unknown>, call: Call, path: Path, end: number): boolean {
  const edits = call.edits;
  const steps = path.steps;
  for (let i = 0; i < end; i += 2) {
    let answer = client.answers[steps[i] as number] as number;
    if (answer <= 0) answer = guess(engine, client, steps[i] as number);
    if (answer !== steps[i + 1]) return false;
  }
  if (call.edits !== edits) return false;
  if (end === steps.length) path.matchedState = client.state;
  return true;
}
