import { link, readFile, rm, writeFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";

const POLL_INTERVAL = 500;

/**
 * Acquires a lock that ends with the process that holds it, by a file with its process ID.
 *
 * @param onWait called while another process holds the lock
 * @returns releases the lock
 */
export async function lockFile(path: string, onWait: () => void): Promise<() => Promise<void>> {
  const own = `${path}.${process.pid}`;
  await writeFile(own, String(process.pid));
  try {
    // A link appears with its content; a file that is created first would be empty for a moment.
    while (!(await tryLink(own, path))) {
      const holder = Number(await readFile(path, "utf8").catch(() => "0"));
      if (holder !== 0 && !isRunning(holder)) await rm(path, { force: true });
      else {
        onWait();
        await setTimeout(POLL_INTERVAL);
      }
    }
  } finally {
    await rm(own, { force: true });
  }
  return () => rm(path, { force: true });
}

async function tryLink(own: string, path: string): Promise<boolean> {
  try {
    await link(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
