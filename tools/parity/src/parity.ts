import { compareResources, normalExpected, type Comparison } from "./compare.js";
import { generate } from "./generate.js";
import { expectedOf, nameOf, types, type Scenario, type Type } from "./scenario.js";

/** The comparison of one scenario, by proxy and type, and its figures. */
export interface Parity {
  readonly scenario: string;
  readonly error?: string;
  readonly comparisons: ReadonlyMap<string, Comparison>;
  /** Resources equal, and all on either side. */
  readonly equal: number;
  readonly all: number;
  /** The same, over those that the scenario changes, adds or removes relative to its base. */
  readonly changedEqual: number;
  readonly changed: number;
}

/** Generates what a scenario asks for and compares it; `only` limits the types. */
export function parityOf(s: Scenario, only: readonly Type[] = types): Parity {
  const comparisons = new Map<string, Comparison>();
  const counts = { equal: 0, all: 0, changedEqual: 0, changed: 0 };
  const expected = expectedOf(s);
  let error: string | undefined;
  let actual: ReturnType<typeof generate> = new Map();
  try {
    actual = generate(s, only);
  } catch (e) {
    error = e instanceof Error ? (e.stack ?? e.message) : String(e);
  }
  const base = s.folder
    ? expectedOf({ ...s, folder: undefined, proxies: s.proxies.map((p) => ({ ...p, key: p.origin })) })
    : undefined;
  for (const { key, origin } of s.proxies) {
    for (const t of only) {
      const want = expected.get(`${key} ${t}`);
      if (!want || (t === "nds" && s.config["nds"] !== true)) continue;
      const c = compareResources(t, want, actual.get(`${key} ${t}`) ?? new Map());
      comparisons.set(`${key} ${t}`, c);
      counts.equal += c.equal;
      counts.all += c.expected + c.extra.length;
      const wrong = new Set([...c.missing, ...c.extra, ...c.different.keys()]);
      const touched = base
        ? changedNames(t, base.get(`${origin} ${t}`) ?? [], want)
        : new Set([...want.map((r) => nameOf(t, r)), ...c.extra]);
      counts.changed += touched.size;
      for (const n of touched) if (!wrong.has(n)) counts.changedEqual++;
    }
  }
  return { scenario: s.name, comparisons, ...counts, ...(error === undefined ? {} : { error }) };
}

function changedNames(
  t: Type,
  before: readonly Parameters<typeof nameOf>[1][],
  after: readonly Parameters<typeof nameOf>[1][],
): Set<string> {
  const a = new Map(before.map((r) => [nameOf(t, r), r]));
  const b = new Map(after.map((r) => [nameOf(t, r), r]));
  const text = (r: Parameters<typeof nameOf>[1] | undefined) =>
    r === undefined ? "" : JSON.stringify(normalExpected(t, r));
  return new Set([...a.keys(), ...b.keys()].filter((n) => a.get(n) !== b.get(n) && text(a.get(n)) !== text(b.get(n))));
}
