import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { analyzeTexts, isAtLeast } from "@istiod/analysis";

const [directory = "mesh"] = process.argv.slice(2);
const files = readdirSync(directory)
  .filter((name) => name.endsWith(".yaml"))
  .map((name) => join(directory, name))
  .map((file) => ({ file, text: readFileSync(file, "utf8") }));

const { messages } = analyzeTexts({ files });
for (const { level, code, origin, reference, message } of messages)
  console.log(`${reference}: ${level} [${code}] ${origin}: ${message}`);

// Mistakes stop a pipeline, advice does not.
process.exitCode = messages.some(({ level }) => isAtLeast(level, "Warning")) ? 1 : 0;
