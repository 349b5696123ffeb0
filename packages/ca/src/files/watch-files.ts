import { type FSWatcher, realpathSync, watch } from "node:fs";
import { dirname } from "node:path";
import { type Clock, systemClock } from "@istiod/runtime";

export interface WatchFilesOptions {
  readonly paths: readonly string[];
  /** Milliseconds without changes that end a burst. Default: 100. */
  readonly debounce?: number;
  readonly clock?: Clock;
  /** Called after each burst of changes, and every second while a directory cannot be watched. */
  readonly changed: () => void;
}

const retryMs = 1000;

/**
 * Watches files through their directories, which also detects files replaced by renaming and symbolic links swapped by
 * a Secret volume. The watch is active on return.
 *
 * @returns a function that stops the watch
 */
export function watchFiles({ paths, debounce = 100, clock = systemClock, changed }: WatchFilesOptions): () => void {
  let watchers: readonly FSWatcher[] = [];
  let cancelBurst: (() => void) | undefined;
  let cancelRetry: (() => void) | undefined;
  let ended = false;

  const closeAll = (): void => {
    cancelBurst?.();
    cancelRetry?.();
    for (const watcher of watchers) watcher.close();
  };
  const attachAndReport = (): void => {
    if (ended) return;
    attach();
    changed();
  };
  const burst = (): void => {
    cancelBurst?.();
    cancelBurst = clock.after(debounce, attachAndReport);
  };
  const attach = (): void => {
    closeAll();
    const directories = directoriesOf(paths);
    watchers = directories.flatMap((directory) => watcherOf(directory, burst) ?? []);
    if (watchers.length < directories.length) cancelRetry = clock.after(retryMs, attachAndReport);
  };

  attach();
  return () => {
    ended = true;
    closeAll();
  };
}

function watcherOf(directory: string, changed: () => void): FSWatcher | undefined {
  try {
    return watch(directory, { persistent: false }, changed).on("error", changed);
  } catch {
    return undefined;
  }
}

/** Returns the directories of the paths, and of the targets of symbolic links. */
function directoriesOf(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.flatMap((path) => [path, target(path)]).map((path) => dirname(path)))];
}

function target(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
