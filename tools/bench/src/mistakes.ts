// Seconds from the save of a mistake until a running istiod says it, for each mistake of the tests of analysis:
// `npm run mistakes -w tools/bench -- [part of a name]`.
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Mistake, recordedMistakes } from "./mistakes/recorded.js";
import { type IstiodProcess, startIstiod } from "./server/istiod-process.js";

interface Measured {
  readonly mistake: Mistake;
  /** Seconds by place; undefined if the place does not say it in time. */
  readonly seconds: Readonly<Record<Place, number | undefined>>;
}

const places = ["log", "analyze", "page"] as const;
type Place = (typeof places)[number];

const timeoutMs = 6000;
const pollMs = 50;

/** The texts that a place has now. */
const textAt: Readonly<Record<Place, (istiod: IstiodProcess, log: string) => Promise<string>>> = {
  log: (_, log) => readFile(log, "utf8"),
  analyze: async ({ http }) => (await fetch(`${http}/debug/analyze`)).text(),
  page: async ({ http }) => (await fetch(`${http}/?format=json`)).text(),
};

async function measure(istiod: IstiodProcess, directory: string, log: string, mistake: Mistake): Promise<Measured> {
  const [base = "", added] = mistake.texts;
  await writeFile(join(directory, "mesh.yaml"), added === undefined ? "" : base);
  await writeFile(join(directory, "new.yaml"), "");
  // Files are named by their paths, and suggestions depend on the ingress gateway that is assumed for files.
  const said = mistake.messages.map(({ message }) =>
    JSON.stringify(message.replace(/ at mesh\.yaml.*|; did you mean.*/, "")).slice(1, -1),
  );
  await until(async () => !includesAny(await textAt.analyze(istiod, log), said));
  const skip = (await textAt.log(istiod, log)).length;
  const started = performance.now();
  await writeFile(join(directory, "new.yaml"), added ?? base);
  const found = await Promise.all(
    places.map(async (place) => {
      const isSaid = async (): Promise<boolean> => {
        const text = await textAt[place](istiod, log);
        return includesAny(place === "log" ? text.slice(skip) : text, said);
      };
      return [place, (await until(isSaid)) ? (performance.now() - started) / 1000 : undefined] as const;
    }),
  );
  return { mistake, seconds: Object.fromEntries(found) as Measured["seconds"] };
}

/**
 * Reports whether a place says a mistake: one of its messages, since of an object that is rejected, a running istiod
 * says only why. Some places leave out the field.
 */
function includesAny(text: string, messages: readonly string[]): boolean {
  return messages.some((message) => text.includes(message) || text.includes(withoutField(message)));
}

function withoutField(message: string): string {
  return message.replace(/^[\w.[\]\\"@/=-]+: /, "");
}

async function until(condition: () => Promise<boolean>): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (performance.now() < deadline) {
    if (await condition()) return true;
    await sleep(pollMs);
  }
  return false;
}

function printAll(measured: readonly Measured[]): void {
  const cell = (seconds: number | undefined): string => seconds?.toFixed(1) ?? "not said";
  const words = (text: string): string => (text.length > 90 ? `${text.slice(0, 90)}…` : text).replaceAll("|", "\\|");
  process.stdout.write("| mistake | code | words | log | analyze | page |\n|---|---|---|---|---|---|\n");
  for (const { mistake, seconds } of measured) {
    const [first] = mistake.messages;
    const name = mistake.test.replaceAll("|", "\\|");
    process.stdout.write(
      `| ${name} | \`${first?.code}\` | ${words(first?.message ?? "")} | ${places.map((place) => cell(seconds[place])).join(" | ")} |\n`,
    );
  }
  for (const place of places) {
    const sorted = measured.flatMap(({ seconds }) => seconds[place] ?? []).sort((a, b) => a - b);
    const at = (part: number): string => (sorted[Math.floor((sorted.length - 1) * part)] ?? 0).toFixed(2);
    process.stdout.write(
      `\n${place}: ${sorted.length} of ${measured.length} said, p50 ${at(0.5)} s, p90 ${at(0.9)} s, longest ${at(1)} s`,
    );
  }
  process.stdout.write(
    `\nload ${loadavg()
      .map((load) => load.toFixed(1))
      .join(" ")}\n`,
  );
}

const only = process.argv[2] ?? "";
const work = await mkdtemp(join(tmpdir(), "istiod-mistakes-"));
try {
  const mistakes = (await recordedMistakes()).filter(({ test }) => test.includes(only));
  const directory = join(work, "mesh");
  await mkdir(directory);
  const log = join(work, "istiod.log");
  await writeFile(log, "");
  const istiod = await startIstiod({ directory, flags: { log_target: log, log_output_level: "info" } });
  try {
    const measured: Measured[] = [];
    for (const mistake of mistakes) measured.push(await measure(istiod, directory, log, mistake));
    printAll(measured);
    process.exitCode = measured.every(({ seconds }) => places.every((place) => seconds[place] !== undefined)) ? 0 : 1;
  } finally {
    await istiod.stop();
  }
} finally {
  await rm(work, { recursive: true, force: true });
}
