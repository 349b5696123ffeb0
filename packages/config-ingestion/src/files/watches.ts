import { watch } from "node:fs";
import { basename, dirname } from "node:path";
import { type Clock, reasonOf } from "@istiod/runtime";
import { errorCode, isAbsent } from "./file-system.js";
import { isConfigFile } from "./load-directory.js";

/** Interval, in milliseconds, at which a directory that cannot be watched is read. */
const pollInterval = 2_000;

interface Watch {
  close(): void;
}

/** Called when a directory may have changed, with the name of the changed entry if it is known. */
export type DirectoryListener = (directory: string, name?: string) => void;

/**
 * Watches on directories. Directories are watched rather than files, so that files replaced by renaming, as editors do,
 * and links that are repointed, as in mounted ConfigMaps, are seen.
 */
export class Watches {
  readonly #clock: Clock;
  readonly #onChange: DirectoryListener;
  readonly #directories = new Map<string, Watch>();
  /** Directories that links point into, each with the directories that hold these links. */
  readonly #targets = new Map<string, { readonly watch: Watch; readonly followers: Set<string> }>();
  readonly #targetsOf = new Map<string, ReadonlySet<string>>();
  readonly #polled = new Map<string, string>();

  constructor(clock: Clock, onChange: DirectoryListener) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** Watches a directory, replacing an existing watch: the path may name another directory now. */
  renew(directory: string): void {
    this.#directories.get(directory)?.close();
    this.#directories.set(
      directory,
      this.#open(directory, isRelevant, (name) =>
        name === null || name.startsWith(".") ? this.#onChange(directory) : this.#onChange(directory, name),
      ),
    );
  }

  /** Reports whether a directory is watched and its watch has not failed. */
  has(directory: string): boolean {
    return this.#directories.has(directory);
  }

  /** Watches a directory's parent for the creation, removal and replacement of the directory itself. */
  watchParent(directory: string): Watch {
    const name = basename(directory);
    return this.#open(
      dirname(directory),
      (_, changedName) => changedName === null || changedName === name,
      () => this.#onChange(directory),
    );
  }

  /** Watches the directories that a directory's links point into, and stops watching its previous ones. */
  follow(directory: string, targets: ReadonlySet<string>): void {
    for (const target of this.#targetsOf.get(directory) ?? [])
      if (!targets.has(target)) this.#release(target, directory);
    for (const target of targets) this.#retain(target, directory);
    if (targets.size === 0) this.#targetsOf.delete(directory);
    else this.#targetsOf.set(directory, targets);
  }

  /** Reports whether any link of a directory is followed. */
  followsFrom(directory: string): boolean {
    return this.#targetsOf.has(directory);
  }

  /** Stops watching a directory and the targets of its links. */
  close(directory: string): void {
    this.follow(directory, new Set());
    this.#directories.get(directory)?.close();
    this.#directories.delete(directory);
  }

  /** Stops watching everything. */
  closeAll(): void {
    for (const directory of [...this.#directories.keys()]) this.close(directory);
  }

  /** Returns the directories that are polled because they cannot be watched, each with the reason. */
  faults(): ReadonlyMap<string, string> {
    return this.#polled;
  }

  #retain(target: string, follower: string): void {
    const entry = this.#targets.get(target);
    if (entry !== undefined) {
      entry.followers.add(follower);
      return;
    }
    const followers = new Set([follower]);
    const watch = this.#open(
      target,
      () => true,
      () => followers.forEach((directory) => this.#onChange(directory)),
    );
    this.#targets.set(target, { followers, watch });
  }

  #release(target: string, follower: string): void {
    const entry = this.#targets.get(target);
    if (entry === undefined) return;
    entry.followers.delete(follower);
    if (entry.followers.size > 0) return;
    entry.watch.close();
    this.#targets.delete(target);
  }

  #open(directory: string, relevant: Relevance, changed: (name: string | null) => void): Watch {
    try {
      return this.#watch(directory, relevant, changed);
    } catch (cause) {
      return this.#poll(directory, { cause, relevant, changed });
    }
  }

  #watch(directory: string, relevant: Relevance, changed: (name: string | null) => void): Watch {
    const watcher = watch(directory, { persistent: true }, (event, name) => {
      if (relevant(event, name)) changed(name);
    });
    watcher.on("error", () => {
      watcher.close();
      this.#directories.delete(directory);
      changed(null);
    });
    return watcher;
  }

  /**
   * Polls a directory that cannot be watched. One that does not exist is watched, and counts as changed, once it does.
   */
  #poll(directory: string, { cause, relevant, changed }: UnwatchableDirectory): Watch {
    this.#polled.set(directory, `cannot be watched and is read every ${pollInterval / 1000}s instead: ${why(cause)}`);
    let watcher: Watch | undefined;
    let cancel = (): void => undefined;
    const schedule = (): void => {
      cancel = this.#clock.after(pollInterval, () => {
        if (isAbsent(cause)) watcher = this.#tryWatch(directory, relevant, changed);
        if (watcher !== undefined || !isAbsent(cause)) changed(null);
        if (watcher === undefined) schedule();
        else this.#polled.delete(directory);
      });
    };
    schedule();
    return {
      close: () => {
        this.#polled.delete(directory);
        cancel();
        watcher?.close();
      },
    };
  }

  #tryWatch(directory: string, relevant: Relevance, changed: (name: string | null) => void): Watch | undefined {
    try {
      return this.#watch(directory, relevant, changed);
    } catch {
      return undefined;
    }
  }
}

type Relevance = (event: string, name: string | null) => boolean;

interface UnwatchableDirectory {
  /** The error of watching it. */
  readonly cause: unknown;
  readonly relevant: Relevance;
  readonly changed: (name: string | null) => void;
}

function why(cause: unknown): string {
  if (errorCode(cause) === "ENOSPC") return "the limit of inotify watches is reached (fs.inotify.max_user_watches)";
  return reasonOf(cause);
}

/** Reports whether an event may concern configuration: swap files of editors do not, `..data` of a ConfigMap does. */
function isRelevant(event: string, name: string | null): boolean {
  if (name === null) return true;
  if (name.startsWith(".")) return name.startsWith("..");
  return event === "rename" || isConfigFile(name) || !name.includes(".");
}
