// Runs a release without writing, committing or publishing anything: by the version plans that exist, else by a plan of its own.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { publishedManifests, root } from "./pack.mjs";

if (!isGitRepository()) {
  console.log("skipped: nx release compares with the history, and this is not a Git repository");
  process.exit(0);
}
const plans = join(root, ".nx/version-plans");
const planned = listPlans();
const before = gitStatus();
try {
  if (planned.length === 0) nx("release", "plan", "minor", "--only-touched=false", "--message=Dry run.");
  const output = nx("release", "--dry-run", "--skip-publish");
  for (const [name, { version }] of publishedManifests()) {
    const [, next] = new RegExp(`^${name} .*New version (\\S+) written`, "m").exec(output) ?? [];
    if (next === undefined) throw new Error(`${name} would not be released:\n${output}`);
    console.log(`${name}: ${version} -> ${next}`);
  }
} finally {
  for (const plan of listPlans().filter((name) => !planned.includes(name))) rmSync(join(plans, plan));
}
const after = gitStatus();
if (after !== before) throw new Error(`a dry run changed the repository from\n${before}\nto\n${after}`);

function isGitRepository() {
  try {
    execFileSync("git", ["rev-parse", "HEAD"], { cwd: root, stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

function listPlans() {
  return existsSync(plans) ? readdirSync(plans) : [];
}

/** The commit, and every file that differs from it. */
function gitStatus() {
  const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8" });
  return git("rev-parse", "HEAD") + git("status", "--porcelain");
}

/** Runs Nx. What it asks, instead of knowing it, has no answer here, so it must not ask. */
function nx(...args) {
  const env = { ...process.env, NX_DAEMON: "false", NX_TUI: "false", NO_COLOR: "1", FORCE_COLOR: "0" };
  return execFileSync(join(root, "node_modules/.bin/nx"), args, {
    cwd: root,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
}
