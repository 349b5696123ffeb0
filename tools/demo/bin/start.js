#!/usr/bin/env node
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "./build.js";
import { whyNotWritable } from "./checkout.js";
import { startProgress } from "./progress.js";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");

function whyNot() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 19))
    return `Node 20.19 or later is needed; this is ${process.versions.node}`;
  if (process.platform !== "linux")
    return `the demo needs Linux, where every address of 127.0.0.0/8 can be listened on; this is ${process.platform} (a Linux container or virtual machine will do)`;
  return undefined;
}

// A terminal that is closed ends the demo by SIGHUP, and not by an error.
for (const output of [process.stdout, process.stderr]) output.on("error", () => undefined);
try {
  const obstacle = whyNot();
  if (obstacle) throw new Error(obstacle);
  if (!process.argv.includes("--no-build")) {
    const unwritable = whyNotWritable(root);
    if (unwritable) throw new Error(unwritable);
    await build(root);
  }
  const { main } = await import("../dist/main.js");
  await main({ root, args: process.argv.slice(2), startProgress });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
