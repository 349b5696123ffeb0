import { type ChangeKind, changeKinds, isChangeKind } from "../mesh/changes.js";

/** One step of a run. `reconnect` is of all proxies to the same istiod; `restart` to one that was started anew. */
export type Step =
  | { readonly name: "connect" | "reconnect" | "restart" | "idle" }
  | { readonly name: ChangeKind; readonly index: number };

const ownSteps = ["connect", "reconnect", "restart", "idle"] as const;

/**
 * Reads steps NAME[@INDEX][*COUNT], separated by commas. Without an index, the occurrences of a change go through the
 * objects 0, 1, 2, … A script that does not begin with `connect` is given it.
 *
 * @throws RangeError that names the step that is none
 */
export function parseScript(script: string): Step[] {
  const next = new Map<string, number>();
  const steps = script
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "")
    .flatMap((word): Step[] => {
      const [, name = "", index, count = "1"] = /^([a-z-]+)(?:@(\d+))?(?:\*(\d+))?$/.exec(word) ?? [];
      const own = ownSteps.find((each) => each === name);
      if (own === undefined && !isChangeKind(name))
        throw new RangeError(`${word}: no such step; there are ${[...ownSteps, ...changeKinds].join(", ")}`);
      return Array.from({ length: Number(count) }, () => {
        if (own !== undefined || !isChangeKind(name)) return { name: own ?? "idle" };
        const at = index === undefined ? (next.get(name) ?? 0) : Number(index);
        if (index === undefined) next.set(name, at + 1);
        return { name, index: at };
      });
    });
  return steps[0]?.name === "connect" ? steps : [{ name: "connect" }, ...steps];
}
