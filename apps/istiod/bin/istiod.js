#!/usr/bin/env node
import { setFlagsFromString } from "node:v8";

// V8 compiles a function for speed after so many bytes of its bytecode have run. At its default a third of what a fleet's first connection costs is that
// compiling, of a thousand functions of which most are done before they are compiled: docs/costs.md has both. Newer versions have a compiler in between, and
// no such flag.
if (process.versions.node.startsWith("20.")) setFlagsFromString("--interrupt-budget=600000");

const { run } = await import("../bundle/main.js");
await run(process.argv);
