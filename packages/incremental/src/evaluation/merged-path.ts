import type { Client } from "../records/client.js";
import { Memo, type Dependency } from "../records/memo.js";
import type { Path } from "../records/path.js";
import type { Engine } from "./engine.js";

/**
 * Returns the path of a run that reads these dependencies in this order. `depth` is the position of the active
 * computation.
 */
export function mergedPath(engine: Engine, client: Client, depth: number, dependencies: readonly Dependency[]): Path {
  const { store, workspace } = engine;
  const { marks, mark } = workspace.questionMarks(depth, store.questions.byId.length);
  const base = workspace.stepsTop;
  let top = base;
  const step = (id: number, answer: number): void => {
    if (marks[id] === mark) return;
    marks[id] = mark;
    workspace.steps[top++] = id;
    workspace.steps[top++] = answer;
  };
  for (const dependency of dependencies) {
    if (typeof dependency === "number") step(dependency, client.answers[dependency] as number);
    else if (dependency instanceof Memo) {
      const steps = dependency.path.steps;
      for (let i = 0; i < steps.length; i += 2) step(steps[i] as number, steps[i + 1] as number);
    }
  }
  return store.paths.intern(workspace.steps, base, top);
}
