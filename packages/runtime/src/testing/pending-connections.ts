import { readFileSync } from "node:fs";
import type { NetConnectOpts } from "node:net";
import { Worker } from "node:worker_threads";

const settings = "/proc/sys/net/core/somaxconn";

/** Returns the limit of the kernel for connections that wait to be accepted; 0 if it is unknown. */
export function maxPendingConnections(): number {
  try {
    return Number(readFileSync(settings, "utf8"));
  } catch {
    return 0;
  }
}

/**
 * Opens connections while the event loop of this thread is blocked, and closes them. Returns the number of those that
 * were established, at most `count`, after a second without another.
 */
export async function pendingConnections(to: NetConnectOpts, count: number): Promise<number> {
  const established = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(connectAll, { eval: true, workerData: { to, count, established }, execArgv: [] });
  await new Promise((resolve) => worker.once("message", resolve));
  worker.postMessage("connect");
  for (let before = -1, now = 0; before !== now && now < count;) {
    before = now;
    const end = performance.now() + 1000;
    while (performance.now() < end && (now = Atomics.load(established, 0)) < count)
      Atomics.wait(established, 0, now, Math.max(1, end - performance.now()));
  }
  const reached = Atomics.load(established, 0);
  await worker.terminate();
  return reached;
}

const connectAll = `
  const { parentPort, workerData: { to, count, established } } = require("node:worker_threads");
  const { connect } = require("node:net");
  parentPort.once("message", () => {
    for (let i = 0; i < count; i++)
      connect(to).on("error", () => undefined).once("connect", () => {
        Atomics.add(established, 0, 1);
        Atomics.notify(established, 0);
      });
  });
  parentPort.postMessage("ready");
`;
