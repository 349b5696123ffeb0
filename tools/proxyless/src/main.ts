// Runs all scenarios with the gRPC libraries of this machine:
// `npm run matrix -w tools/proxyless -- [--library NAME] [--only NAME]`.
import { parseArgs } from "node:util";
import { findLibrary, libraryNames } from "./libraries.js";
import { type LibraryOutcomes, runScenarios } from "./run-matrix.js";
import { scenarios } from "./scenarios.js";

const { values } = parseArgs({
  options: { library: { type: "string", multiple: true }, only: { type: "string", multiple: true } },
});
const chosen = scenarios.filter(({ name }) => values.only?.includes(name) ?? true);
const found: LibraryOutcomes[] = [];
for (const name of libraryNames) {
  if (values.library?.includes(name) === false) continue;
  try {
    const library = await findLibrary(name);
    found.push(
      await runScenarios(library, chosen, ({ scenario, problem, leftOut, rejections }) => {
        console.log(
          `${name}: ${scenario}: ${problem ?? leftOut ?? "works"}${rejections.map((each) => `; rejected ${each}`).join("")}`,
        );
      }),
    );
  } catch (error) {
    console.log(`${name} is skipped: ${error instanceof Error ? error.message : String(error)}`);
  }
}
console.log(`\n| | ${found.map(({ library, version }) => `${library} ${version}`).join(" | ")} |`);
console.log(`|---|${found.map(() => "---|").join("")}`);
for (const { name } of chosen) console.log(`| ${name} | ${found.map((each) => cell(each, name)).join(" | ")} |`);
process.exitCode = found.some(({ outcomes }) =>
  outcomes.some((each) => each.problem !== undefined || each.rejections.length > 0),
)
  ? 1
  : 0;

function cell({ outcomes }: LibraryOutcomes, name: string): string {
  const outcome = outcomes.find(({ scenario }) => scenario === name);
  return outcome?.leftOut ?? (outcome?.problem === undefined ? "yes" : "no");
}
