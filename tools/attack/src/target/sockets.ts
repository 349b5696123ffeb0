import { readdirSync, readlinkSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";

/** Connections of probes and of the fleet that may come and go meanwhile. */
const slack = 5;
/** A server may wait for a client that has announced its end. */
const maxWaitMs = 20_000;
const intervalMs = 100;

/** Returns the number of sockets that a process has open. */
export function openSockets(pid: number): number {
  const directory = `/proc/${pid}/fd`;
  return readdirSync(directory).filter((name) => targetOf(`${directory}/${name}`).startsWith("socket:")).length;
}

/** A descriptor may be closed while the directory is read. */
function targetOf(descriptor: string): string {
  try {
    return readlinkSync(descriptor);
  } catch {
    return "";
  }
}

/**
 * Waits until a process has no more sockets open than before. Returns the number of those that it keeps open; 0 for a
 * few.
 */
export async function socketsAbove(pid: number, before: number): Promise<number> {
  let left = openSockets(pid) - before;
  for (const until = performance.now() + maxWaitMs; left > slack && performance.now() < until;) {
    await wait(intervalMs);
    left = openSockets(pid) - before;
  }
  return left > slack ? left : 0;
}
