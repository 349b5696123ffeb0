import { type FSWatcher, watch } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { type Clock, systemClock } from "../clock.js";

/** How long to wait before a directory that is absent is looked for again, in milliseconds. */
const ABSENT = 1000;

/**
 * Calls `changed` after each burst of changes around some files: to the files, to symbolic links in their directories
 * (as a Secret's volume swaps them), and to what those point to.
 *
 * @param quiet milliseconds without a change that end a burst
 * @returns ends the watch
 */
export function watchFiles(
  paths: readonly string[],
  quiet: number,
  changed: () => void,
  clock: Clock = systemClock,
): () => void {
  let watchers: FSWatcher[] = [];
  let cancelBurst: (() => void) | undefined;
  let cancelRetry: (() => void) | undefined;
  let ended = false;
  let round = 0;

  const burst = (): void => {
    cancelBurst?.();
    cancelBurst = clock.after(quiet, () => {
      changed();
      void attach();
    });
  };

  const attach = async (): Promise<void> => {
    const mine = ++round;
    const directories = await directoriesOf(paths);
    if (ended || mine !== round) return;
    for (const watcher of watchers) watcher.close();
    watchers = [];
    let absent = false;
    for (const directory of directories) {
      try {
        watchers.push(watch(directory, { persistent: false }, burst).on("error", burst));
      } catch {
        absent = true;
      }
    }
    cancelRetry?.();
    if (absent) cancelRetry = clock.after(ABSENT, burst);
  };

  void attach();
  return () => {
    ended = true;
    cancelBurst?.();
    cancelRetry?.();
    for (const watcher of watchers) watcher.close();
  };
}

async function directoriesOf(paths: readonly string[]): Promise<string[]> {
  const real = await Promise.all(paths.map((path) => realpath(path).catch(() => path)));
  return [...new Set([...paths, ...real].map((path) => dirname(path)))];
}
