import type { Input } from "../inputs/input.js";
import { addDependent, Memo, removeDependent, type Dependency } from "../records/memo.js";
import type { Engine } from "./engine.js";

/** Gives a new memo its dependencies, each of which is listed once. */
export function link(engine: Engine, memo: Memo, dependencies: readonly Dependency[]): void {
  memo.dependencies = dependencies;
  for (let i = 0; i < dependencies.length; i++) {
    const dependency = dependencies[i] as Dependency;
    if (typeof dependency === "number") continue;
    addDependent(dependency, memo);
    engine.edges++;
  }
}

/** Gives a memo other dependencies. Only what differs is linked and unlinked. */
export function relink(engine: Engine, memo: Memo, after: readonly Dependency[]): void {
  const before = memo.dependencies;
  if (before === after) return;
  const old = ++engine.runs;
  const seen = ++engine.runs;
  for (const dependency of before) if (typeof dependency !== "number") dependency.mark = old;
  for (const dependency of after) {
    if (typeof dependency === "number") continue;
    if (dependency.mark !== old) {
      addDependent(dependency, memo);
      engine.edges++;
    }
    dependency.mark = seen;
  }
  for (const dependency of before)
    if (typeof dependency !== "number" && dependency.mark === old) unlink(engine, dependency, memo);
  memo.dependencies = after;
}

/** Removes the reverse edge. What nothing uses any more waits to be dropped. */
export function unlink(engine: Engine, dependency: Input | Memo, memo: Memo): void {
  engine.edges--;
  if (!removeDependent(dependency, memo)) return;
  if (!(dependency instanceof Memo)) engine.retention.unread(dependency);
  else if (dependency.client === null && dependency.holders === null)
    engine.retention.unused(dependency, engine.revision);
}
