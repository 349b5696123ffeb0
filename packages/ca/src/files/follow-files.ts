import { isDeepStrictEqual } from "node:util";
import type { Clock } from "@istiod/runtime";
import { CaError } from "../errors.js";
import { watchFiles } from "./watch-files.js";

export interface FollowFilesOptions<T> {
  readonly paths: readonly string[];
  readonly debounce?: number;
  readonly clock?: Clock;
  /** Reads and checks the files. If it throws, the last good content stays active. */
  readonly read: () => Promise<T>;
  /** Called with the content after each change. */
  readonly onChange: (content: T) => void;
  /** Called if the files are invalid; not repeated for the same message. */
  readonly onError?: (error: CaError) => void;
}

/** The last good content of files. */
export interface FollowedFiles<T> {
  current(): T;
  stop(): void;
}

/**
 * Reads files, and again after each change.
 *
 * @throws the error of the first `read`
 */
export async function followFiles<T>({
  paths,
  debounce,
  clock,
  read,
  onChange,
  onError,
}: FollowFilesOptions<T>): Promise<FollowedFiles<T>> {
  let failure: string | undefined;
  let stopped = false;
  let reading: Promise<unknown> = Promise.resolve();
  const reload = async (): Promise<void> => {
    if (stopped) return;
    try {
      const next = await read();
      failure = undefined;
      if (stopped || isDeepStrictEqual(next, content)) return;
      content = next;
      onChange(next);
    } catch (cause) {
      const error = CaError.from(cause, "store", paths.join(", "));
      if (error.message !== failure) onError?.(error);
      failure = error.message;
    }
  };
  // Watch first, so that no change is missed between reading and watching.
  const unwatch = watchFiles({
    paths,
    ...(debounce !== undefined && { debounce }),
    ...(clock !== undefined && { clock }),
    changed: () => void (reading = reading.then(reload)),
  });
  const stop = (): void => {
    stopped = true;
    unwatch();
  };
  const first = read();
  reading = first.catch(() => undefined);
  let content: T;
  try {
    content = await first;
  } catch (error) {
    stop();
    throw error;
  }
  return { current: () => content, stop };
}
