import { createHash } from "node:crypto";
import type { Scenario } from "../scenario.js";

/** Returns some scenarios of all groups: those whose names have the smallest hashes, of each group in turn. */
export function sampleOf(scenarios: readonly Scenario[], count: number): readonly Scenario[] {
  const groups = new Map<string, Scenario[]>();
  for (const s of scenarios.toSorted((a, b) => (hashOf(a) < hashOf(b) ? -1 : 1))) {
    const group = s.name.split("/")[0] ?? "";
    groups.set(group, [...(groups.get(group) ?? []), s]);
  }
  const chosen: Scenario[] = [];
  for (let round = 0; chosen.length < Math.min(count, scenarios.length); round += 1)
    for (const members of groups.values()) chosen.push(...members.slice(round, round + 1));
  return chosen.slice(0, count);
}

function hashOf({ name }: Scenario): string {
  return createHash("sha256").update(name).digest("hex");
}
