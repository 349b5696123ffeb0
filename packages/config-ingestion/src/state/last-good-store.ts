import { readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import {
  type ConfigObject,
  failClosed,
  type Kind,
  type LocatedObject,
  type Problem,
  subjectOf,
} from "@istiod/config-schema";
import { type Clock, reasonOf } from "@istiod/runtime";
import { IngestionError } from "../errors.js";
import { describeError, isAbsent } from "../files/file-system.js";
import { Watches } from "../files/watches.js";
import type { StoredVersion, StoredVersions } from "../ledger/stored-versions.js";
import { describeVersion, encodeEntry, type Entry, type EntryContent, loadEntry, missingEntry } from "./entry.js";
import { syncDirectory, writeEmptyEntry, writeEntry } from "./entry-file.js";
import {
  entryName,
  type EntryName,
  identityIn,
  idOf,
  isAbove,
  isMissingEntry,
  matchesDigest,
  missingEntryName,
  parseEntryName,
} from "./entry-name.js";
import { openStoreDirectory } from "./store-directory.js";

/** Number of entries written at a time. */
const parallelWrites = 16;

/** Largest number of entries. More are not stored. */
const maxEntries = 50_000;

/** Name of the file that says that a process has stored a whole configuration. */
const initializedMarker = "initialized";

export interface LastGoodStoreOptions {
  /** Directory that replicas may share. It is created if it does not exist. */
  readonly directory: string;
  /** Cluster and revision whose objects are stored; others have entries of their own. */
  readonly cluster: string;
  readonly revision: string;
  /** Place of the objects. Objects of files and of API servers have separate entries. */
  readonly origin: "files" | "api-server";
  readonly clock: Clock;
}

/** A version to store. */
export interface AcceptedVersion {
  readonly kind: Kind;
  readonly key: string;
  readonly object: ConfigObject<unknown, unknown>;
  /** Path of the file that defines it, relative to the configuration's directory; empty for objects of API servers. */
  readonly file: string;
  /** UID of the object of an API server; undefined for objects of files. */
  readonly uid?: string;
  /**
   * Place in the order of versions: the time of the file's last change, in nanoseconds since the epoch, or the resource
   * version. Undefined: it cannot be told, and the version cannot be stored.
   */
  readonly order: bigint | undefined;
  /** Reports whether the file still has the content that the version was read from. */
  readonly isCurrent: boolean;
}

/**
 * The last good versions of policies in a directory. Each version is a file of its own that is never changed; its name
 * has the identity of the object, the version's place in the order, and a digest of its content. The highest place
 * applies, so that replicas agree without locks: a writer adds a file and then removes those below it. A version that
 * cannot be stored, as on a full disk, is replaced by an empty entry, so that no older one applies after a restart.
 */
export class LastGoodStore implements StoredVersions {
  readonly #directory: string;
  readonly #cluster: string;
  readonly #watches: Watches;
  #entries = new Map<string, Entry>();
  /** Versions that could not be stored. They are tried again with the next ones. */
  readonly #unsaved = new Map<string, { readonly problem: Problem; readonly version: AcceptedVersion }>();
  #problem: Problem | undefined;
  #isInitialized = false;
  /** Number of entries written. */
  #writes = 0;
  #notify: () => void = () => undefined;

  constructor({ directory, cluster, revision, origin, clock }: LastGoodStoreOptions) {
    this.#directory = join(
      directory,
      origin === "files" ? "last-good" : "last-good-objects",
      `${fileNameOf(cluster)}~${fileNameOf(revision || "default")}`,
    );
    this.#cluster = cluster;
    this.#watches = new Watches(clock, () => this.#notify());
  }

  /** Reports whether a process has stored a whole configuration, so that what is missing was never accepted. */
  get isInitialized(): boolean {
    return this.#isInitialized;
  }

  /** Opens the directory. @throws IngestionError that names the directory if it cannot be used */
  async start(changed: () => void): Promise<void> {
    this.#notify = changed;
    await openStoreDirectory(this.#directory);
    await this.refresh();
    if (this.#problem !== undefined) throw new IngestionError("unreadable", `--stateDir: ${this.#problem.message}`);
    this.#watches.renew(this.#directory);
  }

  stop(): void {
    this.#watches.closeAll();
  }

  /** Reads the entries that other processes added. Returns whether any object has another version than before. */
  async refresh(): Promise<boolean> {
    let names: readonly string[];
    try {
      names = await readdir(this.#directory);
      this.#problem = undefined;
    } catch (cause) {
      this.#problem = this.#problemOf(
        `${this.#directory} ${describeError(cause)}; versions that were read before apply`,
      );
      return false;
    }
    this.#isInitialized = names.includes(initializedMarker);
    const newest = await this.#newestOf(names);
    const before = this.#entries;
    this.#entries = new Map();
    let isChanged = newest.size !== before.size;
    for (const [id, found] of newest) {
      const known = before.get(id);
      isChanged ||= known?.name !== found.name;
      const entry =
        known?.name === found.name && known.content !== undefined
          ? known
          : await loadEntry(this.#directory, found, this.#cluster);
      if (entry !== undefined) this.#entries.set(id, entry);
    }
    return isChanged;
  }

  /** @param uid UID of the object of an API server. Versions of other objects with its name are not its versions. */
  lastGood(kind: Kind, key: string, uid?: string): StoredVersion | "none" | "unknown" {
    const id = idOf(kind, key);
    if (this.#unsaved.has(id)) return "unknown";
    const entry = this.#entries.get(id);
    if (entry === undefined) return this.#problem === undefined ? "none" : "unknown";
    if (entry.content === undefined) return "unknown";
    return entry.content.uid === uid ? entry.content : "none";
  }

  definedIn(file: string): readonly LocatedObject[] {
    return [...this.#entries.values()].flatMap(({ id, content }): readonly LocatedObject[] => {
      if (content !== undefined && content.file !== file) return [];
      const { kind, key } = content ?? identityIn(id) ?? {};
      return kind === undefined || key === undefined ? [] : [this.#claim(kind, key, file)];
    });
  }

  /** Returns the files below a directory, or all files, that stored objects were accepted from. */
  filesBelow(directory: string): ReadonlySet<string> {
    const files = [...this.#entries.values()].flatMap(({ content }) => content?.file ?? []);
    return new Set(files.filter((file) => directory === "" || file.startsWith(`${directory}/`)));
  }

  /** Stores versions that were accepted. Those that cannot be stored are reported as problems. */
  async record(versions: readonly AcceptedVersion[]): Promise<void> {
    const given = new Set(versions.map(({ kind, key }) => idOf(kind, key)));
    const again = [...this.#unsaved].filter(([id]) => !given.has(id)).map(([, { version }]) => version);
    const queue = [...again.map((version) => ({ ...version, isCurrent: false })), ...versions];
    const writer = async (): Promise<void> => {
      for (let version = queue.pop(); version !== undefined; version = queue.pop()) {
        const { kind, key } = version;
        const id = idOf(kind, key);
        await this.#put(id, version).then(
          () => this.#unsaved.delete(id),
          (cause: unknown) => this.#markUnsaved(id, version, cause),
        );
      }
    };
    const before = this.#writes;
    await Promise.all(Array.from({ length: parallelWrites }, writer));
    if (this.#writes > before) await syncDirectory(this.#directory).catch(() => undefined);
  }

  /** Notes that a version is not stored, and puts an empty entry in its place. */
  async #markUnsaved(id: string, version: AcceptedVersion, cause: unknown): Promise<void> {
    const known = this.#entries.get(id);
    const order = version.order === undefined ? known?.order : orderOf(version, version.order, known);
    const failure = await this.#replaceByMissing(id, order ?? 0n, known);
    const isOlderLeft = failure !== undefined && known !== undefined && !isMissingEntry(known);
    const reason = isOlderLeft
      ? `${reasonOf(cause)}; an older one applies after a restart unless its entry is deleted, which failed: ${failure}`
      : reasonOf(cause);
    const subject = subjectOf(version.kind, version.key);
    const problem = this.#problemOf(`cannot store the last good version: ${reason}`, subject);
    this.#unsaved.set(id, { problem, version: { ...version, order: order ?? version.order } });
  }

  /** Returns the reason if it fails. */
  async #replaceByMissing(id: string, order: bigint, known: Entry | undefined): Promise<string | undefined> {
    if (known !== undefined && isMissingEntry(known) && known.order >= order) return undefined;
    const added = missingEntryName(id, order);
    try {
      await writeEmptyEntry(this.#directory, added.name, known?.name);
      this.#entries.set(id, missingEntry(added));
      this.#writes++;
      return undefined;
    } catch (cause) {
      // Versions that the store lacks are unknown from now on.
      await this.#unlink(initializedMarker).catch(() => undefined);
      this.#isInitialized = false;
      return reasonOf(cause);
    }
  }

  /** Removes the versions of objects that were deleted, but not those of a later object of an API server. */
  async forget(
    objects: Iterable<{ readonly kind: Kind; readonly key: string; readonly uid?: string | undefined }>,
  ): Promise<void> {
    for (const { kind, key, uid } of objects) {
      const id = idOf(kind, key);
      const entry = this.#entries.get(id);
      if (this.#unsaved.get(id)?.version.uid === uid) this.#unsaved.delete(id);
      if (entry?.content !== undefined && entry.content.uid !== uid) continue;
      this.#entries.delete(id);
      if (entry !== undefined) await this.#unlink(entry.name).catch(() => undefined);
    }
  }

  /** Removes the versions of all objects that are not defined, once the whole configuration was read. */
  async completeWith(isDefined: (kind: Kind, key: string) => boolean): Promise<void> {
    const gone = [...this.#entries.values()]
      .flatMap(({ id }) => identityIn(id) ?? [])
      .filter(({ kind, key }) => !isDefined(kind, key));
    await this.forget(gone);
    if (this.#isInitialized || this.#hasUnmarked()) return;
    this.#isInitialized = await writeEntry(this.#directory, initializedMarker, "").then(
      () => true,
      () => false,
    );
  }

  /** Reports whether a version is neither stored nor replaced by an empty entry. */
  #hasUnmarked(): boolean {
    return [...this.#unsaved.keys()].some(
      (id) => this.#entries.get(id)?.content !== undefined || !this.#entries.has(id),
    );
  }

  /** Removes the entries of which `isGone` is true. */
  async removeGone(isGone: (content: EntryContent, order: bigint) => boolean): Promise<void> {
    const contents = [...this.#entries.values()].map(({ content, order }) => ({ content, order }));
    await this.forget(contents.flatMap(({ content, order }) => (content && isGone(content, order) ? content : [])));
  }

  problems(): readonly Problem[] {
    const unusable = [...this.#entries.values()].flatMap(({ id, name, fault }) =>
      fault === undefined || this.#unsaved.has(id) ? [] : [this.#problemOf(`${name} ${fault}; it is ignored`)],
    );
    return [
      ...(this.#problem === undefined ? [] : [this.#problem]),
      ...unusable,
      ...[...this.#unsaved.values()].map(({ problem }) => problem),
    ];
  }

  async #put(id: string, version: AcceptedVersion): Promise<void> {
    const { kind, key, object, file, uid, order: changedAt } = version;
    const text = encodeEntry(kind, { key, object, file, uid });
    if (text === undefined) return;
    const known = this.#entries.get(id);
    if (known?.content !== undefined && matchesDigest(known, text)) return;
    if (changedAt === undefined) throw new Error("its place in the order of versions is unknown");
    // Another process has stored a later version of an object of an API server.
    if (uid !== undefined && known?.content !== undefined && known.order > changedAt) return;
    if (known === undefined && this.#entries.size >= maxEntries)
      throw new Error(`${maxEntries} objects are stored already`);
    const order = orderOf(version, changedAt, known);
    const added = entryName(id, order, text);
    await writeEntry(this.#directory, added.name, text);
    this.#writes++;
    const content = { kind, key, object, file, uid, version: describeVersion(order, uid) };
    if (known === undefined || isAbove(added, known)) this.#entries.set(id, { ...added, content, fault: undefined });
    // An entry that is left does not apply, because it is below.
    if (known !== undefined && this.#entries.get(id) !== known) await this.#unlink(known.name).catch(() => undefined);
  }

  /** Returns the newest entry of each object, and removes those below it. */
  async #newestOf(names: readonly string[]): Promise<ReadonlyMap<string, EntryName>> {
    const newest = new Map<string, EntryName>();
    for (const name of names) {
      const parsed = parseEntryName(name);
      if (parsed === undefined) continue;
      const known = newest.get(parsed.id);
      if (known === undefined || isAbove(parsed, known)) newest.set(parsed.id, parsed);
      const below = known === undefined ? undefined : isAbove(parsed, known) ? known : parsed;
      if (below !== undefined) await this.#unlink(below.name).catch(() => undefined);
    }
    return newest;
  }

  async #unlink(name: string): Promise<void> {
    await unlink(join(this.#directory, name)).catch((cause: unknown) => {
      if (!isAbsent(cause)) throw cause;
    });
  }

  /** Returns the definition of an object in a file that cannot be read. */
  #claim(kind: Kind, key: string, file: string): LocatedObject {
    const { namespace, name } = subjectOf(kind, key);
    const substitute = failClosed(kind, { namespace, name, cluster: this.#cluster }, undefined);
    return { kind, key, object: undefined, file, line: 0, path: [], ...(substitute && { substitute }) };
  }

  #problemOf(message: string, subject?: Problem["subject"]): Problem {
    return {
      severity: "error",
      file: this.#directory,
      line: 0,
      path: [],
      message: `--stateDir: ${message}`,
      ...(subject && { subject }),
    };
  }
}

/** Returns a text as a part of a file's name that has no `~`, which separates parts. */
function fileNameOf(text: string): string {
  return encodeURIComponent(text).replaceAll("~", "%7E");
}

/** Returns the place of a version: a file's current one is the newest, whatever the clocks of replicas say. */
function orderOf({ isCurrent }: AcceptedVersion, changedAt: bigint, known: EntryName | undefined): bigint {
  return isCurrent && known !== undefined && known.order >= changedAt ? known.order + 1n : changedAt;
}
