import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../clock.js";
import { CaError } from "../errors.js";
import { watchFiles } from "./watch-files.js";

export interface FollowFilesOptions<T> {
  readonly paths: readonly string[];
  readonly debounce?: number;
  readonly clock?: Clock;
  /** Reads and checks the files; what it throws keeps the last good content. */
  readonly read: () => Promise<T>;
  /** Called with each further content. */
  readonly onChange: (content: T) => void;
  /** Called when the files cannot be used; once for each message in a row. */
  readonly onError?: (error: CaError) => void;
}

/** Files whose last good content is kept. */
export interface FollowedFiles<T> {
  current(): T;
  stop(): void;
}

/**
 * Reads files now and after each change.
 *
 * @throws what `read` throws the first time
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
  // The watch comes first, so that no change falls between reading and watching.
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
