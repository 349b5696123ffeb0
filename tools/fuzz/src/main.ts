import { parseArgs } from "node:util";
import { keepInput, readCorpus } from "./corpus.js";
import { runInWorker } from "./run-in-worker.js";
import type { Target } from "./target.js";
import { targets } from "./targets/index.js";

const usage = `Usage: fuzz [TARGET...] [--cases 1000000] [--seed N]

Runs parsers of untrusted data with random input. An input that makes one throw an undocumented error, hang or exhaust its heap is kept in
tools/fuzz/corpus/TARGET, and the exit status is 1.

Targets:
${targets.map(({ name, description }) => `  ${name.padEnd(20)} ${description}`).join("\n")}`;

async function run({ name }: Target, cases: number, seed: number): Promise<boolean> {
  const startedAt = performance.now();
  const { cases: done, fault } = await runInWorker(name, { cases, seed, corpus: [...readCorpus(name).values()] });
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(
    `${name.padEnd(20)} ${String(done).padStart(10)} cases ${seconds.toFixed(1).padStart(7)} s  seed ${seed}`,
  );
  if (fault === undefined) return true;
  console.log(`! ${fault.message}\n  input kept in ${keepInput(name, fault.input)}`);
  return false;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: "boolean", short: "h" },
    cases: { type: "string", default: "1000000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const unknown = positionals.find((name) => !targets.some((target) => target.name === name));
if (values.help) console.log(usage);
else if (unknown !== undefined) {
  console.error(`fuzz: no target ${unknown}`);
  process.exitCode = 2;
} else {
  for (const target of targets)
    if (positionals.length === 0 || positionals.includes(target.name))
      if (!(await run(target, Number(values.cases), Number(values.seed)))) process.exitCode = 1;
}
