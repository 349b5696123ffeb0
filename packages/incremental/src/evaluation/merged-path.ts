import type { ClientView } from "../client-view.js";
import type { Dependency } from "../records/memo.js";
import { Input } from "../inputs/input.js";
import type { Path } from "../records/path.js";
import type { Engine } from "./engine.js";

/** The path that a run would have that reads these dependencies in this order. `depth` is the place of the activation that asks. */
export function mergedPath(
  engine: Engine,
  client: ClientView<unknown>,
  depth: number,
  dependencies: readonly Dependency[],
): Path {
  const seen = engine.seen(depth);
  const base = engine.stepsTop;
  let top = base;
  const step = (id: number, answer: number): void => {
    if (seen.marks[id] === seen.last) return;
    seen.marks[id] = seen.last;
    engine.steps[top++] = id;
    engine.steps[top++] = answer;
  };
  for (const dependency of dependencies) {
    if (typeof dependency === "number") step(dependency, client.answers[dependency] as number);
    else if (!(dependency instanceof Input)) {
      const steps = dependency.path.steps;
      for (let i = 0; i < steps.length; i += 2) step(steps[i] as number, steps[i + 1] as number);
    }
  }
  return engine.paths.intern(engine.steps, base, top);
}
