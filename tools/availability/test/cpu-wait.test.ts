import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { childrenOf, CpuWait } from "../src/data-plane/cpu-wait.js";

const reason = process.platform === "linux" ? undefined : "the scheduler of Linux is needed";

test("a process is a child of its parent until it has ended, and then waits no more", async ({ skip }) => {
  skip(reason !== undefined, reason);
  const child = spawn("sleep", ["60"], { stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child, "spawn");
  const pid = child.pid ?? 0;
  expect(childrenOf(process.pid)).toContain(pid);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(childrenOf(process.pid)).not.toContain(pid);
  expect(new CpuWait().take([pid])).toBe(0);
});

test("the wait of a thread counts once", ({ skip }) => {
  skip(reason !== undefined, reason);
  const waits = new CpuWait();
  const total = waits.take([process.pid]);
  const since = waits.take([process.pid]);
  expect(total).toBeGreaterThan(0);
  expect(since).toBeLessThan(total);
});
