import { readFileSync } from "node:fs";
import { formatProblem, readText } from "@istiod/config-schema";

const files = process.argv.slice(2);
const readings = files.flatMap((file) => readText(readFileSync(file, "utf8"), file));
const problems = readings.flatMap((reading) => reading.problems);

for (const problem of problems) console.log(formatProblem(problem));
const accepted = readings.flatMap(({ objects }) => objects).filter(({ object }) => object !== undefined);
console.log(`accepted: ${accepted.map(({ kind, key }) => `${kind.kind} ${key}`).join(", ")}`);

// A pipeline stops here.
process.exitCode = problems.some(({ severity }) => severity === "error") ? 1 : 0;
