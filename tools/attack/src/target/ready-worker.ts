import { Agent, get } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import type { ReadyTimes } from "./ready-probe.js";

const everyMs = 50;
const timeoutMs = 10_000;

/** Polls until the first message of the parent, and answers it. */
async function poll(url: string, port: NonNullable<typeof parentPort>): Promise<void> {
  const ms: number[] = [];
  const endedAt: number[] = [];
  let failures = 0;
  let stopped = false;
  port.once("message", () => (stopped = true));
  while (!stopped) {
    const startedAt = performance.now();
    if (!(await isReady(url))) failures++;
    const now = performance.now();
    ms.push(now - startedAt);
    endedAt.push(performance.timeOrigin + now);
    await wait(everyMs);
  }
  port.postMessage({ ms, endedAt, failures } satisfies ReadyTimes);
}

function isReady(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(url, { agent: new Agent(), timeout: timeoutMs }, (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode === 200));
    });
    request.once("timeout", () => request.destroy(new Error("timeout")));
    request.once("error", () => resolve(false));
  });
}

if (parentPort !== null) void poll(workerData as string, parentPort);
