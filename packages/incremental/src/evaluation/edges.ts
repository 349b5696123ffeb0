import { addDependent, removeDependent } from "../records/dependents.js";
import { noDependencies, type Dependency, type GraphNode, type Memo } from "../records/memo.js";
import type { Engine } from "./engine.js";

/** Sets the dependencies of a new memo, each of which is listed once. */
export function link(engine: Engine, memo: Memo, dependencies: readonly Dependency[]): void {
  memo.dependencies = dependencies;
  for (let i = 0; i < dependencies.length; i++) {
    const dependency = dependencies[i] as Dependency;
    if (typeof dependency === "number") continue;
    addDependent(dependency, memo);
    engine.edges++;
  }
}

/** Replaces the dependencies of a memo. Only edges that differ are added and removed. */
export function relink(engine: Engine, memo: Memo, after: readonly Dependency[]): void {
  const before = memo.dependencies;
  if (before === after) return;
  const beforeMark = ++engine.workspace.pass;
  const afterMark = ++engine.workspace.pass;
  for (const dependency of before) if (typeof dependency !== "number") dependency.mark = beforeMark;
  for (const dependency of after) {
    if (typeof dependency === "number") continue;
    if (dependency.mark !== beforeMark) {
      addDependent(dependency, memo);
      engine.edges++;
    }
    dependency.mark = afterMark;
  }
  for (const dependency of before) {
    if (typeof dependency !== "number" && dependency.mark === beforeMark) unlink(engine, dependency, memo);
  }
  memo.dependencies = after;
}

/** Removes all dependencies of a memo. Returns them. */
export function unlinkAll(engine: Engine, memo: Memo): readonly Dependency[] {
  const { dependencies } = memo;
  memo.dependencies = noDependencies;
  for (const dependency of dependencies) if (typeof dependency !== "number") unlink(engine, dependency, memo);
  return dependencies;
}

function unlink(engine: Engine, dependency: GraphNode, memo: Memo): void {
  engine.edges--;
  if (removeDependent(dependency, memo)) engine.unused.addNode(dependency, engine.revision);
}
