// istiod's command line, from the modules that its bundle is made of.
import { createRequire } from "node:module";

const main = new URL(
  "./dist/main.js",
  `file://${createRequire(import.meta.url).resolve("@istiod/istiod/package.json")}`,
);
const { run } = (await import(main.href)) as { run(argv: readonly string[]): Promise<void> };
await run(process.argv);
