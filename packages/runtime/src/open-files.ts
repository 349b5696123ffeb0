import { readFileSync } from "node:fs";

/**
 * Returns the maximum number of open files of this process (RLIMIT_NOFILE), which connections count for; undefined
 * where the system does not tell or does not limit it. Node.js raises the soft limit to the hard one when it starts.
 */
export function maxOpenFiles(): number | undefined {
  try {
    return openFilesIn(readFileSync("/proc/self/limits", "utf8"));
  } catch {
    return undefined;
  }
}

/** Returns the soft limit of open files in the text of `/proc/self/limits`. */
export function openFilesIn(limits: string): number | undefined {
  const soft = /^Max open files\s+(\d+)\s/m.exec(limits)?.[1];
  return soft === undefined ? undefined : Number(soft);
}
