import type { BigIntStats, Dirent } from "node:fs";
import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isAbsent, reason } from "./file-system.js";
import { isConfigFile } from "./load-directory.js";
import type { Watches } from "./watches.js";

/** What differs since the last scan. */
export interface TreeDifference {
  /** Files that are new, or may have another text. */
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** When the last of the changed files was written, in milliseconds since the epoch; 0 if there is none. */
  readonly writtenAt: number;
}

interface DirectoryRecord {
  /**
   * The same path can become another directory, when a link is swapped or it is made anew. Empty while it cannot be
   * read.
   */
  readonly id: string;
  /** By path: what tells a file's versions apart. */
  files: Map<string, string>;
  directories: Set<string>;
  /** Why it could not be read the last time. */
  fault: string | undefined;
}

/**
 * Above this many names in one directory it is read as a whole: so many changes may be more than the kernel keeps for
 * us.
 */
const fewNames = 256;

/**
 * The configuration files below a directory, found again after something was noted to have changed. Links are followed,
 * to files and to directories. Only directories of which something was noted are read again, and where the names of
 * files are known that changed, only these files are looked at.
 */
export class DirectoryTree {
  private readonly records = new Map<string, DirectoryRecord>();
  /** By directory: the names that were noted; "all" where it could be any. */
  private readonly dirty = new Map<string, Set<string> | "all">();
  private changed: string[] = [];
  private writtenAt = 0;
  private removed: string[] = [];

  constructor(
    readonly root: string,
    private readonly watches: Watches,
  ) {
    this.dirty.set(root, "all");
  }

  /** Something in a directory may have changed: what has this name, or anything. */
  note(directory: string, name?: string): void {
    const noted = this.dirty.get(directory);
    if (name === undefined) this.dirty.set(directory, "all");
    else if (noted === undefined) this.dirty.set(directory, new Set([name]));
    else if (noted !== "all") noted.add(name);
  }

  /** A file is to be given as changed by the next scan, whatever it looks like. */
  forget(file: string): void {
    const directory = dirname(file);
    const files = this.records.get(directory)?.files;
    if (files?.has(file) === true) files.set(file, "");
    this.note(directory, basename(file));
  }

  /** Directories that could not be read, and why. What they held is not removed. */
  faults(): ReadonlyMap<string, string> {
    return new Map(
      [...this.records].flatMap(([path, { fault }]) => (fault === undefined ? [] : [[path, fault] as const])),
    );
  }

  async scan(): Promise<TreeDifference> {
    const directories = [...this.dirty].sort(([a], [b]) => (a < b ? -1 : 1));
    this.dirty.clear();
    this.changed = [];
    this.removed = [];
    this.writtenAt = 0;
    for (const [path, names] of directories) {
      if (path !== this.root && !this.records.has(path)) continue;
      if (names === "all" || !(await this.scanFiles(path, names)))
        await this.scanDirectory(path, this.ancestorsOf(path));
    }
    return { changed: this.changed, removed: this.removed, writtenAt: this.writtenAt };
  }

  /**
   * Looks at some files of a directory. Says no where that is not enough: the directory is another one, or there are
   * directories or links.
   */
  private async scanFiles(path: string, names: ReadonlySet<string>): Promise<boolean> {
    const record = this.records.get(path);
    if (record === undefined || record.fault !== undefined || names.size > fewNames || this.watches.followsFrom(path))
      return false;
    const id = await stat(path, { bigint: true }).then(identify, () => undefined);
    if (id !== record.id || !this.watches.has(path)) return false;
    const found = await Promise.all([...names].map((name) => inspectFile(join(path, name))));
    if (
      found.some(
        ({ file, stats, fault }) =>
          record.directories.has(file) || (stats === undefined ? !isAbsent(fault) : !stats.isFile()),
      )
    )
      return false;
    for (const { file, stats, fault } of found) {
      if (stats !== undefined) this.takeFile(file, stats, fault, record, record);
      else if (record.files.delete(file)) this.removed.push(file);
    }
    return true;
  }

  private async scanDirectory(path: string, ancestors: ReadonlySet<string>): Promise<void> {
    const before = this.records.get(path);
    let id: string;
    let entries: Dirent[];
    try {
      id = identify(await stat(path, { bigint: true }));
      if (ancestors.has(id)) return;
      if (before?.id !== id || !this.watches.has(path)) this.watches.renew(path);
      entries = (await readdir(path, { withFileTypes: true })).filter(({ name }) => !name.startsWith("."));
    } catch (cause) {
      if (path !== this.root && isAbsent(cause)) this.drop(path);
      else
        this.records.set(path, {
          id: "",
          files: before?.files ?? new Map(),
          directories: before?.directories ?? new Set(),
          fault: reason(cause),
        });
      return;
    }
    const record: DirectoryRecord = { id, files: new Map(), directories: new Set(), fault: undefined };
    this.records.set(path, record);
    const linked = new Set<string>();
    const found = await Promise.all(entries.map((entry) => inspect(join(path, entry.name), entry, linked)));
    for (const { file, stats, fault } of found) this.takeFile(file, stats, fault, record, before);
    const within = new Set([...ancestors, id]);
    for (const { file, stats } of found)
      if (stats?.isDirectory() === true) await this.takeDirectory(file, stats, record, within);
    this.watches.follow(path, linked);
    for (const file of before?.files.keys() ?? []) if (!record.files.has(file)) this.removed.push(file);
    for (const directory of before?.directories ?? []) if (!record.directories.has(directory)) this.drop(directory);
  }

  private takeFile(
    file: string,
    stats: BigIntStats | undefined,
    fault: unknown,
    record: DirectoryRecord,
    before: DirectoryRecord | undefined,
  ): void {
    const known = before?.files.get(file);
    if (stats === undefined) {
      if (known !== undefined && !isAbsent(fault)) record.files.set(file, known);
      return;
    }
    if (!stats.isFile() || !isConfigFile(basename(file))) return;
    const version = `${identify(stats)}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`;
    record.files.set(file, version);
    if (known === version) return;
    this.changed.push(file);
    this.writtenAt = Math.max(this.writtenAt, Number(stats.ctimeNs / 1_000_000n));
  }

  private async takeDirectory(
    path: string,
    stats: BigIntStats,
    record: DirectoryRecord,
    ancestors: ReadonlySet<string>,
  ): Promise<void> {
    record.directories.add(path);
    const known = this.records.get(path);
    if (known === undefined || known.id !== identify(stats) || known.fault !== undefined)
      await this.scanDirectory(path, ancestors);
  }

  /** Identities of the directories above one, by which a link back to one of them is known. */
  private ancestorsOf(path: string): ReadonlySet<string> {
    const ids = new Set<string>();
    for (let above = dirname(path); path !== this.root; above = dirname(above)) {
      const id = this.records.get(above)?.id;
      if (id !== undefined) ids.add(id);
      if (above === this.root || above === dirname(above)) break;
    }
    return ids;
  }

  private drop(path: string): void {
    const record = this.records.get(path);
    this.records.delete(path);
    this.watches.close(path);
    if (record === undefined) return;
    this.removed.push(...record.files.keys());
    for (const directory of record.directories) this.drop(directory);
  }
}

interface Inspected {
  readonly file: string;
  readonly stats?: BigIntStats;
  readonly fault?: unknown;
}

async function inspectFile(file: string): Promise<Inspected> {
  return lstat(file, { bigint: true }).then(
    (stats) => ({ file, stats }),
    (fault: unknown) => ({ file, fault }),
  );
}

/**
 * What an entry of a directory is, links followed. Where a link leads to a file elsewhere, that file's directory is
 * added to `linked`.
 */
async function inspect(file: string, entry: Dirent, linked: Set<string>): Promise<Inspected> {
  try {
    const stats = await stat(file, { bigint: true });
    if (entry.isSymbolicLink() && stats.isFile()) linked.add(dirname(await realpath(file)));
    return { file, stats };
  } catch (fault) {
    return { file, fault };
  }
}

/** Inodes are used again; with the time of birth they tell two files apart. */
function identify(stats: BigIntStats): string {
  return `${stats.dev}:${stats.ino}:${stats.birthtimeNs}`;
}
