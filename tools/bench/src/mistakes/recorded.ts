import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Message } from "@istiod/analysis";

/** A mistake of the tests of analysis. */
export interface Mistake {
  /** Name of the test, without those of groups that say that a mistake is found. */
  readonly test: string;
  /** The mesh and what is added to it, or everything in one text. */
  readonly texts: readonly [text: string] | readonly [mesh: string, added: string];
  readonly messages: readonly Pick<Message, "code" | "level" | "origin" | "message">[];
}

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const tests = join(root, "packages/analysis/test");
const groups = /^(each of these mistakes is found where it is|a mistake is reported:) > /;

/** Runs the tests of mistakes, and returns what they analyze. */
export async function recordedMistakes(): Promise<readonly Mistake[]> {
  const work = await mkdtemp(join(tmpdir(), "istiod-recorded-"));
  try {
    const file = join(work, "texts.jsonl");
    const names = (await readdir(tests)).filter((name) => name.endsWith("mistakes.test.ts"));
    const env = { ...process.env, ANALYZED_TEXTS_FILE: file };
    // Without isolation, the files share the modules that they import.
    const args = ["vitest", "run", "--no-isolate", ...names.sort().map((name) => join(tests, name))];
    await promisify(execFile)("npx", args, { cwd: root, env, maxBuffer: 1 << 28 });
    const lines = (await readFile(file, "utf8")).split("\n").filter((line) => line !== "");
    const all = lines.map((line) => JSON.parse(line) as Mistake);
    const named = all.map((mistake) => ({ ...mistake, test: mistake.test.replace(groups, "") }));
    return [...new Map(named.map((mistake) => [JSON.stringify(mistake.texts), mistake])).values()];
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
