import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { startProgress } from "./progress.js";

/** The programs that the demo runs, with what is built of each; what they depend on is built before. */
export const PROJECTS = {
  "@istiod/demo": ["build"],
  "@istiod/istiod": ["build", "bundle"],
  "@istiod/pilot-agent": ["build", "bundle"],
};

/**
 * Returns how much of a build is done, by the output of Nx; undefined before it has begun.
 *
 * @param {string} output
 * @returns {string | undefined} for example `12 of 42 parts`
 */
export function partsBuilt(output) {
  const [, dependencies] =
    /Running targets .* for \d+ projects(?: and (\d+) tasks? they depend on)?/.exec(output) ?? [];
  const done = output.match(/^> nx run /gm)?.length ?? 0;
  if (done === 0) return undefined;
  return `${done} of ${Object.values(PROJECTS).flat().length + Number(dependencies ?? 0)} parts`;
}

/**
 * Builds what the demo runs, and shows how far it is.
 *
 * @param {string} root
 * @throws {Error} with what the build said
 */
export async function build(root) {
  const nx = resolveNx(root);
  const first = !existsSync(join(root, "apps/istiod/bundle/main.js"));
  const progress = startProgress(`building${first ? " (first time: a minute or two)" : ""} … `);
  const child = spawn(
    process.execPath,
    [nx, "run-many", "-t", "build", "bundle", `--projects=${Object.keys(PROJECTS)}`, "--output-style=static"],
    {
      cwd: root,
      // The daemon would stay when the demo has ended.
      env: { ...process.env, NX_DAEMON: "false", NX_TUI: "false", FORCE_COLOR: "0" },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const end = (signal) => {
    progress.stop();
    child.kill("SIGTERM");
    process.exit(signal === "SIGINT" ? 130 : 143);
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.once(signal, end);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
      const detail = partsBuilt(output);
      if (detail !== undefined) progress.detail(detail);
    });
  }
  const status = await new Promise((resolve) => child.once("close", resolve));
  progress.stop();
  for (const signal of signals) process.off(signal, end);
  if (status !== 0) throw new Error(`${output.trim()}\n\nthe build failed`);
}

function resolveNx(root) {
  try {
    return createRequire(join(root, "package.json")).resolve("nx/bin/nx.js");
  } catch (error) {
    throw new Error("the dependencies are not installed: npm ci", { cause: error });
  }
}
