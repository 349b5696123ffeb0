import { type FSWatcher, watch } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { type Clock, systemClock } from "@istiod/runtime";

/** Milliseconds between checks for a directory that does not exist yet. */
const RETRY_INTERVAL = 1000;

/**
 * Calls `onChange` after each burst of changes to files, to symbolic links in their directories (which a Secret volume
 * swaps), and to the targets of the links.
 *
 * @param quiet milliseconds without a change that end a burst
 * @returns stops the watch
 */
export function watchFiles(
  paths: readonly string[],
  quiet: number,
  onChange: () => void,
  clock: Clock = systemClock,
): () => void {
  let watchers: FSWatcher[] = [];
  let cancelBurst: (() => void) | undefined;
  let cancelRetry: (() => void) | undefined;
  let isStopped = false;
  let generation = 0;

  const restartTimer = (): void => {
    cancelBurst?.();
    cancelBurst = clock.after(quiet, () => {
      onChange();
      void attach();
    });
  };

  const attach = async (): Promise<void> => {
    const current = ++generation;
    const directories = await directoriesOf(paths);
    if (isStopped || current !== generation) return;
    for (const watcher of watchers) watcher.close();
    watchers = [];
    let isMissing = false;
    for (const directory of directories) {
      try {
        watchers.push(watch(directory, { persistent: false }, restartTimer).on("error", restartTimer));
      } catch {
        isMissing = true;
      }
    }
    cancelRetry?.();
    if (isMissing) cancelRetry = clock.after(RETRY_INTERVAL, restartTimer);
  };

  void attach();
  return () => {
    isStopped = true;
    cancelBurst?.();
    cancelRetry?.();
    for (const watcher of watchers) watcher.close();
  };
}

async function directoriesOf(paths: readonly string[]): Promise<string[]> {
  const real = await Promise.all(paths.map((path) => realpath(path).catch(() => path)));
  return [...new Set([...paths, ...real].map((path) => dirname(path)))];
}
