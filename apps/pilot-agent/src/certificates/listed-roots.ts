import { readFile } from "node:fs/promises";
import { revocationListsFault } from "@istiod/credentials";
import { reasonOf } from "@istiod/runtime";
import { type Log, silentLog } from "../log.js";
import type { Secret } from "./secret.js";
import { watchFiles } from "./watch-files.js";

export interface ListedRootsOptions {
  /** Path of the file with revocation lists. */
  readonly path: string;
  /** Milliseconds without further changes before the file is read. */
  readonly quiet: number;
  /** Called when the file cannot be read or is invalid; once for each reason. */
  readonly onFailure?: () => void;
  /** Called once if the file cannot be used, and nothing was served before. */
  readonly onMissing?: () => void;
  readonly log?: Log;
}

/**
 * Calls `listener` with the roots of `watchRoots` and the revocation lists of a file, and again after each change.
 * Nothing is served without the lists, which would accept revoked certificates. While the file is invalid or absent,
 * the last good lists stay active.
 *
 * @returns stops the watch
 */
export function watchListedRoots(
  watchRoots: (listener: (secret: Secret) => void) => () => void,
  { path, quiet, onFailure, onMissing, log = silentLog }: ListedRootsOptions,
  listener: (secret: Secret) => void,
): () => void {
  let roots: string | undefined;
  let lists: string | undefined;
  let lastFailure = "";
  let lastContent = "";
  let isStopped = false;
  const emit = (): void => {
    if (isStopped || roots === undefined || lists === undefined) return;
    const secret: Secret = { kind: "roots", roots, ...(lists !== "" && { revocationLists: lists }) };
    const content = JSON.stringify(secret);
    if (content !== lastContent) listener(secret);
    lastContent = content;
  };
  const update = async (): Promise<void> => {
    const read = await readLists(path);
    if (isStopped) return;
    if ("text" in read) {
      lists = read.text;
      lastFailure = "";
      return emit();
    }
    if (read.failure === lastFailure) return;
    const isFirst = lastFailure === "" && lists === undefined;
    lastFailure = read.failure;
    log.warn(`failed to generate secret from file: ${path}: ${read.failure}`);
    onFailure?.();
    if (isFirst) onMissing?.();
  };
  const stopFile = watchFiles([path], quiet, () => void update());
  void update();
  const stopRoots = watchRoots((secret) => {
    if (secret.kind === "roots") roots = secret.roots;
    emit();
  });
  return () => {
    isStopped = true;
    stopFile();
    stopRoots();
  };
}

/** Returns the revocation lists in PEM, empty if there are none, or why they cannot be used. */
async function readLists(path: string): Promise<{ readonly text: string } | { readonly failure: string }> {
  try {
    const content = await readFile(path);
    const text = content.toString("utf8");
    // An operator clears the lists by an empty file.
    if (text.trim() === "") return { text: "" };
    const failure = revocationListsFault(content);
    return failure === undefined ? { text } : { failure };
  } catch (error) {
    return { failure: reasonOf(error) };
  }
}
