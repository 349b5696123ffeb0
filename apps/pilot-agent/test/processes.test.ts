import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, readdir } from "node:fs/promises";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findPortOwner, formatPortOwner, spawnGuarded } from "../src/processes/index.js";
import { killAll, listTree, type ProcessInfo, stillRunning } from "../src/testing/index.js";
import { NOT_BUILT } from "./agent-fixture.js";
import { freePort, scratch } from "./fakes.js";

const library = fileURLToPath(new URL("../dist/processes/index.js", import.meta.url));
const within = { timeout: 8000, interval: 50 };

/** Starts a Node process that guards a shell command, and waits until the command has written a line. */
async function startParent(
  script: string,
  graceSeconds: number,
): Promise<{ parent: ChildProcess; tree: ProcessInfo[] }> {
  const program = `
    const { spawnGuarded } = await import(${JSON.stringify(library)});
    spawnGuarded({ command: "sh", args: ["-c", ${JSON.stringify(script)}], directory: "/", env: process.env, stdout: "inherit", stderr: "inherit", graceSeconds: ${graceSeconds} });
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve) => parent.stdout?.once("data", resolve));
  return { parent, tree: listTree(parent.pid!) };
}

describe("a guarded process", () => {
  beforeEach(({ skip }) => skip(!existsSync(library), NOT_BUILT));
  let tree: ProcessInfo[] = [];
  afterEach(() => killAll(tree));

  it("is terminated with its group when its parent is killed", async () => {
    const started = await startParent("sleep 301 & echo started; wait", 5);
    // The shell forks before it runs the command, so its child is not a `sleep` at once.
    const sleeping = (): number => {
      tree = listTree(started.parent.pid!);
      return tree.filter(({ command }) => command.startsWith("sleep 301")).length;
    };
    await expect.poll(sleeping, within).toBe(1);
    started.parent.kill("SIGKILL");
    await expect.poll(() => stillRunning(tree), within).toEqual([]);
  });

  it("is killed after the grace period if it ignores SIGTERM", async () => {
    const started = await startParent("trap '' TERM; echo started; while :; do sleep 1; done", 1);
    tree = started.tree;
    started.parent.kill("SIGKILL");
    await expect.poll(() => stillRunning(tree), within).toEqual([]);
  });

  it("leaves no guard behind when it exits, and keeps its exit status", async () => {
    const { child, guarded } = spawnGuarded({
      command: "sh",
      args: ["-c", "read -r _; exit 7"],
      directory: "/",
      env: process.env,
      stdout: "inherit",
      stderr: "inherit",
      graceSeconds: 1,
    });
    expect(guarded).toBe(true);
    tree = listTree(child.pid!);
    expect(await new Promise((resolve) => child.once("exit", resolve))).toBe(7);
    await expect.poll(() => stillRunning(tree), within).toEqual([]);
  });

  it("has environment variables whose names are not identifiers", async () => {
    const env = { PATH: process.env["PATH"], "example.com/a-b": "1 2", PLAIN: "'3'" };
    const script = "process.stdout.write(JSON.stringify([process.env['example.com/a-b'], process.env.PLAIN]))";
    const { child } = spawnGuarded({
      command: process.execPath,
      args: ["-e", script],
      directory: "/",
      env,
      stdout: "pipe",
      stderr: "inherit",
      graceSeconds: 1,
    });
    const text = await new Promise<string>((resolve) => child.stdout?.setEncoding("utf8").once("data", resolve));
    expect(JSON.parse(text)).toEqual(["1 2", "'3'"]);
  });
});

describe("a reopenable output", () => {
  const module = fileURLToPath(new URL("../dist/processes/reopenable-output.js", import.meta.url));
  const setpriv = spawnSync("setpriv", ["--version"]).status === 0;

  /** A program that gives a child a reopenable output. The child writes to /dev/stdout. */
  const program = (directory: string): string => `
    const { reopenableOutput } = await import(${JSON.stringify(module)});
    const { spawn } = await import("node:child_process");
    const output = await reopenableOutput("stdout", ${JSON.stringify(directory)}, { warn: console.error });
    console.error(output.stdio === "inherit" ? "inherited" : "copied");
    const child = spawn("sh", ["-c", "for n in 1 2 3; do echo line $n > /dev/stdout; done; printf unfinished > /dev/stdout"], { stdio: ["ignore", output.stdio, "inherit"] });
    output.closeWriter();
    await new Promise((resolve) => child.once("exit", resolve));
    // As in the agent, a timer keeps the process running meanwhile.
    const timer = setTimeout(() => undefined, 10_000);
    await output.copied;
    clearTimeout(timer);`;

  it("is copied if it is another user's pipe, and inherited otherwise", async ({ skip }) => {
    skip(process.getuid?.() !== 0 || !setpriv, "needs root and setpriv, to become another user");
    skip(!existsSync(module), NOT_BUILT);
    const directory = await scratch();
    await chmod(directory, 0o777);
    const run = (as: string): { stdout: string; stderr: string } => {
      const shell = `${as} "$0" --input-type=module -e "$1" | cat`;
      return spawnSync("sh", ["-c", shell, process.execPath, program(directory)], {
        encoding: "utf8",
        timeout: 20_000,
      });
    };
    expect(run("setpriv --reuid 65534 --clear-groups")).toMatchObject({
      stdout: "line 1\nline 2\nline 3\nunfinished",
      stderr: "copied\n",
    });
    expect(run("")).toMatchObject({ stdout: "line 1\nline 2\nline 3\nunfinished", stderr: "inherited\n" });
    expect(await readdir(directory)).toEqual([]);
  });
});

describe("the owner of a port", () => {
  it.each(["127.0.0.1", "0.0.0.0", "::"])("is found if it listens on %s", async (bound) => {
    const port = await freePort();
    const program = `require("node:net").createServer().listen(${port}, "${bound}", () => console.log("listening"))`;
    const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
    try {
      await new Promise((resolve) => child.stdout.once("data", resolve));
      const owner = await findPortOwner(port, "127.0.0.1");
      expect(owner).toMatchObject({ pid: child.pid, uid: process.getuid?.() });
      expect(formatPortOwner(owner!)).toMatch(new RegExp(`^pid ${child.pid} \\(.*node -e require`));
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("is not a process on another address", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.2", resolve));
    const { port } = server.address() as { port: number };
    expect(await findPortOwner(port, "127.0.0.1")).toBeUndefined();
    expect(await findPortOwner(port, "127.0.0.2")).toMatchObject({ pid: process.pid });
    server.close();
  });

  it("is named by user ID if the process is unknown", () => {
    expect(formatPortOwner({ uid: 1001 })).toBe("a process of user ID 1001");
  });
});
