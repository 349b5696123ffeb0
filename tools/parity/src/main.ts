// Parity of the generators with recorded scenarios, in process: `npm run parity -w tools/parity -- --help`.
import { matchesGlob } from "./glob.js";
import { parityOf, type Parity } from "./parity.js";
import { unsupportedFeature } from "./unsupported-feature.js";
import { findScenarios, types, type Type } from "./scenario.js";
import { percent, sum, table } from "./table.js";

const usage = `usage: parity FOLDER [--only GLOB]... [--type cds|eds|lds|rds|ecds|nds]... [--diff] [--paths N]
  --only   choose scenarios by glob, repeatedly
  --type   compare these types only
  --judged leave out what needs features that istiod does not have
  --diff   print every difference of every resource
  --paths  how many differing paths to sum up at the end (30)`;

const args = process.argv.slice(2);
const folder = args[0];
if (!folder || folder.startsWith("--")) {
  console.log(usage);
  process.exit(2);
}
const all = (flag: string) => args.flatMap((a, i) => (a === flag ? [args[i + 1] ?? ""] : []));
const only = all("--only");
const chosenTypes = types.filter((t): t is Type => all("--type").length === 0 || all("--type").includes(t));
const scenarios = findScenarios(folder)
  .filter((s) => only.length === 0 || only.some((g) => matchesGlob(s.name, g)))
  .filter((s) => !args.includes("--judged") || unsupportedFeature(s) === undefined);
const paths = new Map<string, { scenarios: Set<string>; count: number; example: string }>();
const groups = new Map<string, Parity[]>();

for (const s of scenarios) {
  const p = parityOf(s, chosenTypes);
  print(p);
  for (const group of [s.name.split("/")[0] ?? "", "total"]) {
    groups.set(group, [...(groups.get(group) ?? []), p]);
  }
}
const top = [...paths].sort((a, b) => b[1].scenarios.size - a[1].scenarios.size || b[1].count - a[1].count);
for (const [path, { scenarios: in_, count, example }] of top.slice(0, Number(all("--paths")[0] ?? 30))) {
  console.log(`${String(in_.size).padStart(4)} ${String(count).padStart(6)}  ${path}\n             e.g. ${example}`);
}
console.log(table([...groups].map(([name, list]) => sum(name, list))));

function print(p: Parity): void {
  console.log(
    `${percent(p.equal, p.all)} ${percent(p.changedEqual, p.changed)}  ${p.scenario}${p.error ? `  ERROR ${p.error}` : ""}`,
  );
  for (const [where, c] of p.comparisons) {
    const type = where.split(" ")[1] ?? "";
    for (const n of c.missing) note(`${type} (resource) missing`, p.scenario, `${p.scenario} ${where} ${n}`);
    for (const n of c.extra) note(`${type} (resource) extra`, p.scenario, `${p.scenario} ${where} ${n}`);
    if (args.includes("--diff")) {
      for (const n of c.missing) console.log(`  ${where} missing ${n}`);
      for (const n of c.extra) console.log(`  ${where} extra ${n}`);
    }
    for (const [n, list] of c.different) {
      for (const d of list) {
        const text = `${short(d.expected)} | ${short(d.actual)}`;
        note(
          `${type} ${d.path.replace(/\/\d+(?=\/|$)/g, "/*").replace(/\/\[[^\]]*\]/g, "/*")} ${d.kind}`,
          p.scenario,
          `${p.scenario} ${where} ${n}: ${text}`,
        );
        if (args.includes("--diff")) console.log(`  ${where} ${n} ${d.path} ${d.kind}: ${text}`);
      }
    }
  }
}

function note(path: string, scenario: string, example: string): void {
  const e = paths.get(path) ?? { scenarios: new Set<string>(), count: 0, example };
  e.scenarios.add(scenario);
  e.count++;
  paths.set(path, e);
}

function short(v: unknown): string {
  const text = JSON.stringify(v) ?? "-";
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
