import type { Engine } from "../evaluation/engine.js";
import { unlink } from "../evaluation/links.js";
import { forgetPrint } from "../evaluation/outcome.js";
import type { Call } from "../records/call.js";
import { removeMemo } from "../records/decision-tree.js";
import { evicted, Memo, nothing } from "../records/memo.js";
import type { Path } from "../records/path.js";

/** Drops a memo that nothing uses, and what only it used. */
export function evict(engine: Engine, memo: Memo): void {
  const dropped = [memo];
  for (let next = dropped.pop(); next !== undefined; next = dropped.pop()) {
    if (next.standing === evicted) continue;
    const call = next.owner as Call;
    forgetPrint(call, next);
    removeMemo(call, next);
    engine.memos--;
    engine.drops++;
    if (--call.memos === 0) call.home.drop(call);
    releasePath(engine, next.path);
    const dependencies = next.dependencies;
    next.dependencies = nothing;
    for (const dependency of dependencies) {
      if (typeof dependency === "number") continue;
      unlink(engine, dependency, next);
      if (
        dependency instanceof Memo &&
        dependency.client === null &&
        dependency.dependents === null &&
        dependency.holders === null
      ) {
        dropped.push(dependency);
      }
    }
  }
}

function releasePath(engine: Engine, path: Path): void {
  if (--path.memos > 0 || path.steps.length === 0) return;
  engine.paths.drop(path);
  for (let i = 0; i < path.steps.length; i += 2) {
    const question = engine.questions.byId[path.steps[i] as number];
    if (question !== undefined && --question.paths === 0) engine.retention.idle(question, engine.revision);
  }
}
