import { appendFileSync } from "node:fs";
import type { Message } from "@istiod/analysis";
import { expect } from "vitest";

/**
 * Appends a text that a test analyzes, with the messages that it expects, to the file that the variable names, as a line
 * of JSON. `npm run mistakes -w tools/bench` saves each of them beside a running istiod.
 */
export function recordText(texts: readonly string[], messages: readonly Message[]): void {
  const file = process.env["ANALYZED_TEXTS_FILE"];
  if (file === undefined || messages.length === 0) return;
  const { currentTestName: test = "" } = expect.getState();
  const found = messages.map(({ code, level, origin, message }) => ({ code, level, origin, message }));
  appendFileSync(file, `${JSON.stringify({ test, texts, messages: found })}\n`);
}
