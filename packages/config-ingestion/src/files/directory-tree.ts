import type { BigIntStats, Dirent } from "node:fs";
import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { describeError, errorCode, isAbsent } from "./file-system.js";
import { isConfigFile } from "./load-directory.js";
import type { Watches } from "./watches.js";

/** Difference to the previous scan. */
export interface TreeDifference {
  /** Files that are new, or whose text may have changed. */
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** Files that exist and whose properties cannot be read, with the reason. */
  readonly unreadable: ReadonlyMap<string, string>;
  /** Time, in milliseconds since the epoch, when the newest changed file was written; 0 if there is none. */
  readonly writtenAt: number;
}

interface DirectoryRecord {
  /**
   * Identity of the directory: the same path can name another one later, when a link is repointed or the directory is
   * created again. Empty while it cannot be read.
   */
  readonly id: string;
  /** Version of each file, by path. */
  files: Map<string, string>;
  directories: Set<string>;
  /** Reason why the last scan could not read it. */
  fault: string | undefined;
  /** Entries named like configuration that cannot hold any, each with the reason. */
  readonly unusable: Map<string, string>;
  /** Files whose properties cannot be read, each with the reason. */
  readonly unreadable: Map<string, string>;
}

/** Largest depth of directories, and largest number of them: links can form exponentially many paths. */
const limits = { depth: 32, directories: 10_000 };

/**
 * Largest number of changed names for which a directory's files are checked one by one. With more, the directory is
 * read as a whole, because the kernel may have dropped events.
 */
const maxCheckedNames = 256;

/**
 * The configuration files below a directory, scanned incrementally. Links to files and directories are followed. A scan
 * reads only directories that were marked dirty, and only the changed files where their names are known.
 */
export class DirectoryTree {
  readonly #records = new Map<string, DirectoryRecord>();
  /** Changed names of each dirty directory; "all" if they are not known. */
  readonly #dirty = new Map<string, Set<string> | "all">();
  #changed: string[] = [];
  #writtenAt = 0;
  #removed: string[] = [];

  readonly #watches: Watches;

  constructor(
    readonly root: string,
    watches: Watches,
  ) {
    this.#watches = watches;
    this.#dirty.set(root, "all");
  }

  /** Marks an entry of a directory as possibly changed, or all of them. */
  markDirty(directory: string, name?: string): void {
    const names = this.#dirty.get(directory);
    if (name === undefined) this.#dirty.set(directory, "all");
    else if (names === undefined) this.#dirty.set(directory, new Set([name]));
    else if (names !== "all") names.add(name);
  }

  /** Makes the next scan report a file as changed even if its version is the same. */
  reread(file: string): void {
    const directory = dirname(file);
    const files = this.#records.get(directory)?.files;
    if (files?.has(file) === true) files.set(file, "");
    this.markDirty(directory, basename(file));
  }

  /** Returns the directories that cannot be read, with the reason. Their files are not removed. */
  faults(): ReadonlyMap<string, string> {
    return new Map(
      [...this.#records].flatMap(([path, { fault }]) => (fault === undefined ? [] : [[path, fault] as const])),
    );
  }

  /** Returns the entries that cannot hold configuration, with the reason. */
  unusable(): ReadonlyMap<string, string> {
    return new Map([...this.#records.values()].flatMap(({ unusable }) => [...unusable]));
  }

  async scan(): Promise<TreeDifference> {
    const directories = [...this.#dirty].sort(([a], [b]) => (a < b ? -1 : 1));
    this.#dirty.clear();
    this.#changed = [];
    this.#removed = [];
    this.#writtenAt = 0;
    for (const [path, names] of directories) {
      if (path !== this.root && !this.#records.has(path)) continue;
      if (names === "all" || !(await this.#scanFiles(path, names)))
        await this.#scanDirectory(path, this.#ancestorsOf(path));
    }
    const unreadable = new Map([...this.#records.values()].flatMap((record) => [...record.unreadable]));
    return { changed: this.#changed, removed: this.#removed, unreadable, writtenAt: this.#writtenAt };
  }

  /**
   * Checks some files of a directory. Returns false if that does not suffice: the directory was replaced, or some names
   * are directories or links.
   */
  async #scanFiles(path: string, names: ReadonlySet<string>): Promise<boolean> {
    const record = this.#records.get(path);
    if (
      record === undefined ||
      record.fault !== undefined ||
      names.size > maxCheckedNames ||
      this.#watches.followsFrom(path)
    )
      return false;
    const id = await stat(path, { bigint: true }).then(identify, () => undefined);
    if (id !== record.id || !this.#watches.has(path)) return false;
    const found = await Promise.all([...names].map((name) => statFile(join(path, name))));
    if (
      found.some(
        ({ file, stats, fault }) =>
          record.directories.has(file) || (stats === undefined ? !isAbsent(fault) : !stats.isFile()),
      )
    )
      return false;
    for (const { file, stats, fault } of found) {
      if (stats !== undefined) this.#recordFile(file, stats, fault, record, record);
      else if (record.files.delete(file)) this.#removed.push(file);
    }
    return true;
  }

  async #scanDirectory(path: string, ancestors: ReadonlySet<string>): Promise<void> {
    const before = this.#records.get(path);
    let id: string;
    let entries: Dirent[];
    try {
      id = identify(await stat(path, { bigint: true }));
      if (ancestors.has(id)) return;
      if (before?.id !== id || !this.#watches.has(path)) this.#watches.renew(path);
      entries = (await readdir(path, { withFileTypes: true })).filter(({ name }) => !name.startsWith("."));
    } catch (cause) {
      if (path !== this.root && isAbsent(cause)) this.#drop(path);
      else
        this.#records.set(path, {
          id: "",
          files: before?.files ?? new Map(),
          directories: before?.directories ?? new Set(),
          fault: describeError(cause),
          unusable: new Map(),
          unreadable: new Map(),
        });
      return;
    }
    const record: DirectoryRecord = {
      id,
      files: new Map(),
      directories: new Set(),
      fault: undefined,
      unusable: new Map(),
      unreadable: new Map(),
    };
    this.#records.set(path, record);
    const linked = new Set<string>();
    const found = await Promise.all(entries.map((entry) => inspect(join(path, entry.name), entry, linked)));
    for (const { file, stats, fault } of found) this.#recordFile(file, stats, fault, record, before);
    const within = new Set([...ancestors, id]);
    for (const { file, stats } of found)
      if (stats?.isDirectory() === true) await this.#recordDirectory(file, stats, record, within);
    this.#watches.follow(path, linked);
    for (const file of before?.files.keys() ?? []) if (!record.files.has(file)) this.#removed.push(file);
    for (const directory of before?.directories ?? []) if (!record.directories.has(directory)) this.#drop(directory);
  }

  #recordFile(
    file: string,
    stats: BigIntStats | undefined,
    fault: unknown,
    record: DirectoryRecord,
    before: DirectoryRecord | undefined,
  ): void {
    const known = before?.files.get(file);
    record.unusable.delete(file);
    record.unreadable.delete(file);
    if (stats === undefined) {
      if (known !== undefined && !isAbsent(fault)) record.files.set(file, known);
      if (!isConfigFile(basename(file)) || isAbsent(fault)) return;
      if (errorCode(fault) === "ELOOP") record.unusable.set(file, "is a loop of symbolic links");
      else record.unreadable.set(file, describeError(fault));
      return;
    }
    if (!isConfigFile(basename(file))) return;
    if (!stats.isFile()) {
      if (!stats.isDirectory()) record.unusable.set(file, `is ${typeOf(stats)}, expected a file`);
      return;
    }
    const version = `${identify(stats)}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`;
    record.files.set(file, version);
    if (known === version) return;
    this.#changed.push(file);
    this.#writtenAt = Math.max(this.#writtenAt, Number(stats.ctimeNs / 1_000_000n));
  }

  async #recordDirectory(
    path: string,
    stats: BigIntStats,
    record: DirectoryRecord,
    ancestors: ReadonlySet<string>,
  ): Promise<void> {
    const known = this.#records.get(path);
    if (ancestors.size > limits.depth || (known === undefined && this.#records.size >= limits.directories)) {
      const limit = ancestors.size > limits.depth ? `${limits.depth} levels deep` : `${limits.directories} directories`;
      record.unusable.set(path, `is not read: there are more than ${limit}`);
      return;
    }
    record.directories.add(path);
    if (known === undefined || known.id !== identify(stats) || known.fault !== undefined)
      await this.#scanDirectory(path, ancestors);
  }

  /** Returns the identities of the directories above one, to detect links back to them. */
  #ancestorsOf(path: string): ReadonlySet<string> {
    const ids = new Set<string>();
    for (let above = dirname(path); path !== this.root; above = dirname(above)) {
      const id = this.#records.get(above)?.id;
      if (id !== undefined) ids.add(id);
      if (above === this.root || above === dirname(above)) break;
    }
    return ids;
  }

  #drop(path: string): void {
    const record = this.#records.get(path);
    this.#records.delete(path);
    this.#watches.close(path);
    if (record === undefined) return;
    for (const file of record.files.keys()) this.#removed.push(file);
    for (const directory of record.directories) this.#drop(directory);
  }
}

interface Inspected {
  readonly file: string;
  readonly stats?: BigIntStats;
  readonly fault?: unknown;
}

function typeOf(stats: BigIntStats): string {
  if (stats.isFIFO()) return "a FIFO";
  if (stats.isSocket()) return "a socket";
  return stats.isBlockDevice() || stats.isCharacterDevice() ? "a device" : "no file";
}

async function statFile(file: string): Promise<Inspected> {
  return lstat(file, { bigint: true }).then(
    (stats) => ({ file, stats }),
    (fault: unknown) => ({ file, fault }),
  );
}

/**
 * Returns the properties of a directory entry, with links followed. If a link points to a file elsewhere, that file's
 * directory is added to `linked`.
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

/** Returns the identity of a file or directory. Inodes are reused, so it includes the time of creation. */
function identify(stats: BigIntStats): string {
  return `${stats.dev}:${stats.ino}:${stats.birthtimeNs}`;
}
