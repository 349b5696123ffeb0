import { watch } from "node:fs";
import { basename, dirname } from "node:path";
import type { Clock } from "@istiod/settings";
import { errorCode } from "./file-system.js";
import { isConfigFile } from "./load-directory.js";

/** How often a directory is read that cannot be watched, in milliseconds. */
const pollInterval = 2_000;

interface Watch {
  close(): void;
}

/**
 * Watches on directories. A directory is watched, not its files: that sees a file replaced by renaming another over it,
 * as editors do, and a link that comes to point elsewhere, as in mounted ConfigMaps.
 */
export class Watches {
  private readonly directories = new Map<string, Watch>();
  /** Directories of the targets of links, with the directories whose links they are. */
  private readonly targets = new Map<string, { readonly watch: Watch; readonly followers: Set<string> }>();
  private readonly targetsOf = new Map<string, ReadonlySet<string>>();
  private readonly polled = new Map<string, string>();

  constructor(
    private readonly clock: Clock,
    /** Told of a directory, and of what name in it, where that is known. */
    private readonly changed: (directory: string, name?: string) => void,
  ) {}

  /** Watches a directory, anew if it was watched: the path may have become another directory. */
  renew(directory: string): void {
    this.directories.get(directory)?.close();
    this.directories.set(
      directory,
      this.open(directory, isRelevant, (name) =>
        name === null || name.startsWith(".") ? this.changed(directory) : this.changed(directory, name),
      ),
    );
  }

  /** Whether a directory is watched and its watch has not failed. */
  has(directory: string): boolean {
    return this.directories.has(directory);
  }

  /** Watches one name in a directory's parent: what happens to the directory itself. */
  watchParent(directory: string): Watch {
    const name = basename(directory);
    return this.open(
      dirname(directory),
      (_, changedName) => changedName === null || changedName === name,
      () => this.changed(directory),
    );
  }

  /** Watches the directories that a directory's links lead to, and no others for it. */
  follow(directory: string, targets: ReadonlySet<string>): void {
    for (const target of this.targetsOf.get(directory) ?? []) {
      const entry = this.targets.get(target);
      if (targets.has(target) || entry === undefined) continue;
      entry.followers.delete(directory);
      if (entry.followers.size > 0) continue;
      entry.watch.close();
      this.targets.delete(target);
    }
    for (const target of targets) {
      const entry = this.targets.get(target);
      if (entry !== undefined) entry.followers.add(directory);
      else {
        const followers = new Set([directory]);
        this.targets.set(target, {
          followers,
          watch: this.open(
            target,
            () => true,
            () => followers.forEach((follower) => this.changed(follower)),
          ),
        });
      }
    }
    if (targets.size === 0) this.targetsOf.delete(directory);
    else this.targetsOf.set(directory, targets);
  }

  /** Whether any link of a directory is followed. */
  followsFrom(directory: string): boolean {
    return this.targetsOf.has(directory);
  }

  close(directory: string): void {
    this.follow(directory, new Set());
    this.directories.get(directory)?.close();
    this.directories.delete(directory);
  }

  closeAll(): void {
    for (const directory of [...this.directories.keys()]) this.close(directory);
  }

  /** Directories that cannot be watched and are read at intervals instead, and why. */
  faults(): ReadonlyMap<string, string> {
    return this.polled;
  }

  private open(
    directory: string,
    relevant: (event: string, name: string | null) => boolean,
    changed: (name: string | null) => void,
  ): Watch {
    try {
      const watcher = watch(directory, { persistent: true }, (event, name) => {
        if (relevant(event, name)) changed(name);
      });
      watcher.on("error", () => {
        watcher.close();
        this.directories.delete(directory);
        changed(null);
      });
      return watcher;
    } catch (cause) {
      return this.poll(directory, changed, cause);
    }
  }

  private poll(directory: string, changed: (name: null) => void, cause: unknown): Watch {
    const why =
      errorCode(cause) === "ENOSPC"
        ? "the limit of inotify watches is reached (fs.inotify.max_user_watches)"
        : cause instanceof Error
          ? cause.message
          : String(cause);
    this.polled.set(directory, `cannot be watched and is read every ${pollInterval / 1000}s instead: ${why}`);
    let cancel = (): void => undefined;
    const again = (): void => {
      cancel = this.clock.after(pollInterval, () => {
        changed(null);
        again();
      });
    };
    again();
    return {
      close: () => {
        this.polled.delete(directory);
        cancel();
      },
    };
  }
}

/** Swap files of editors and files that hold no configuration are of no interest; `..data` of mounted ConfigMaps is. */
function isRelevant(event: string, name: string | null): boolean {
  if (name === null) return true;
  if (name.startsWith(".")) return name.startsWith("..");
  return event === "rename" || isConfigFile(name) || !name.includes(".");
}
