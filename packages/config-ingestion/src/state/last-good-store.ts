import { createHash } from "node:crypto";
import { mkdir, readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import {
  allKinds,
  type ConfigObject,
  decode,
  failClosed,
  type Kind,
  type LocatedObject,
  type Problem,
  subjectOf,
} from "@istiod/config-schema";
import type { Clock } from "@istiod/settings";
import { IngestionError } from "../errors.js";
import { describeError, isAbsent } from "../files/file-system.js";
import { Watches } from "../files/watches.js";
import type { StoredVersion, StoredVersions } from "../ledger/stored-versions.js";
import { readEntry, syncDirectory, writeEntry } from "./entry-file.js";

/** Version of the format of entries. Entries of another version are ignored. */
const format = 1;

/** Number of entries written at a time. */
const parallelWrites = 16;

/** Largest number of entries. More are not stored. */
const maxEntries = 50_000;

export interface LastGoodStoreOptions {
  /** Directory that replicas may share. It is created if it does not exist. */
  readonly directory: string;
  /** Cluster and revision whose objects are stored; others have entries of their own. */
  readonly cluster: string;
  readonly revision: string;
  readonly clock: Clock;
}

/** A version to store. */
export interface AcceptedVersion {
  readonly kind: Kind;
  readonly key: string;
  readonly object: ConfigObject<unknown, unknown>;
  /** Path of the file that defines it, relative to the configuration's directory. */
  readonly file: string;
  /** Time of the file's last change, in nanoseconds since the epoch. */
  readonly changedAt: bigint;
  /** Reports whether the file still has the content that the version was read from. */
  readonly isCurrent: boolean;
}

/** The newest entry of an object. */
interface Entry {
  readonly id: string;
  readonly name: string;
  readonly order: bigint;
  /** Undefined: the entry cannot be used. */
  readonly content: EntryContent | undefined;
  readonly fault: string | undefined;
}

interface EntryContent extends StoredVersion {
  readonly kind: Kind;
  readonly key: string;
  readonly file: string;
}

const restrictingKinds = new Map(
  allKinds.filter((kind) => kind.failClosed !== undefined).map((kind) => [kind.kind, kind]),
);

/**
 * The last good versions of policies in a directory. Each version is a file of its own that is never changed; its name
 * has the identity of the object, the version's place in the order, and a digest of its content. The highest place
 * applies, so that replicas agree without locks: a writer adds a file and then removes those below it.
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

  constructor({ directory, cluster, revision, clock }: LastGoodStoreOptions) {
    this.#directory = join(
      directory,
      "last-good",
      `${encodeURIComponent(cluster)}~${encodeURIComponent(revision || "default")}`,
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
    try {
      await mkdir(this.#directory, { recursive: true, mode: 0o700 });
      if (((await stat(this.#directory)).mode & 0o002) !== 0)
        throw new IngestionError(
          "unreadable",
          `--stateDir: ${this.#directory} can be written by every user, expected mode 0700`,
        );
      await writeEntry(this.#directory, ".probe", "");
      await unlink(join(this.#directory, ".probe"));
    } catch (cause) {
      if (cause instanceof IngestionError) throw cause;
      throw new IngestionError(
        "unreadable",
        `--stateDir: ${this.#directory} ${describeError(cause)}, expected a writable directory`,
        { cause },
      );
    }
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
    const newest = new Map<string, { readonly id: string; readonly name: string; readonly order: bigint }>();
    for (const name of names) {
      const parsed = parseName(name);
      if (parsed === undefined) continue;
      const known = newest.get(parsed.id);
      if (known === undefined || isAbove(parsed, known)) newest.set(parsed.id, parsed);
      const below = known === undefined ? undefined : isAbove(parsed, known) ? known : parsed;
      if (below !== undefined) await this.#unlink(below.name).catch(() => undefined);
    }
    const before = this.#entries;
    this.#entries = new Map();
    let isChanged = newest.size !== before.size;
    for (const [id, found] of newest) {
      const known = before.get(id);
      isChanged ||= known?.name !== found.name;
      const entry = known?.name === found.name && known.content !== undefined ? known : await this.#load(found);
      if (entry !== undefined) this.#entries.set(id, entry);
    }
    return isChanged;
  }

  lastGood(kind: Kind, key: string): StoredVersion | "none" | "unknown" {
    const id = idOf(kind, key);
    if (this.#unsaved.has(id)) return "unknown";
    const entry = this.#entries.get(id);
    if (entry === undefined) return this.#problem === undefined ? "none" : "unknown";
    return entry.content ?? "unknown";
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
          (cause: unknown) =>
            this.#unsaved.set(id, { problem: this.#unsavedProblem(cause, subjectOf(kind, key)), version }),
        );
      }
    };
    const before = this.#writes;
    await Promise.all(Array.from({ length: parallelWrites }, writer));
    if (this.#writes > before) await syncDirectory(this.#directory).catch(() => undefined);
  }

  #unsavedProblem(cause: unknown, subject: Problem["subject"]): Problem {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return this.#problemOf(`cannot store the last good version: ${reason}`, subject);
  }

  /** Removes the versions of objects that were deleted. */
  async forget(objects: Iterable<{ readonly kind: Kind; readonly key: string }>): Promise<void> {
    for (const { kind, key } of objects) {
      const id = idOf(kind, key);
      const entry = this.#entries.get(id);
      this.#unsaved.delete(id);
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
    if (this.#isInitialized) return;
    await writeEntry(this.#directory, initializedMarker, "").catch(() => undefined);
    this.#isInitialized = true;
  }

  problems(): readonly Problem[] {
    const unusable = [...this.#entries.values()].flatMap(({ name, fault }) =>
      fault === undefined ? [] : [this.#problemOf(`${name} ${fault}; it is ignored`)],
    );
    return [
      ...(this.#problem === undefined ? [] : [this.#problem]),
      ...unusable,
      ...[...this.#unsaved.values()].map(({ problem }) => problem),
    ];
  }

  async #put(id: string, { kind, key, object, file, changedAt, isCurrent }: AcceptedVersion): Promise<void> {
    const manifest = kind.encode?.(object);
    if (manifest === undefined) return;
    const text = JSON.stringify({ format, kind: kind.kind, key, file, manifest });
    const known = this.#entries.get(id);
    if (known?.content !== undefined && known.name.endsWith(`~${digestOf(text)}.json`)) return;
    if (known === undefined && this.#entries.size >= maxEntries)
      throw new Error(`${maxEntries} objects are stored already`);
    // A version that the file still has is the newest one, whatever the clocks of replicas say.
    const order = isCurrent && known !== undefined && known.order >= changedAt ? known.order + 1n : changedAt;
    const name = `${id}~${order.toString().padStart(20, "0")}~${digestOf(text)}.json`;
    await writeEntry(this.#directory, name, text);
    this.#writes++;
    const content: EntryContent = { kind, key, object, file, storedAt: Number(order / 1_000_000n) };
    if (known === undefined || isAbove({ order, name }, known))
      this.#entries.set(id, { id, name, order, content, fault: undefined });
    if (known !== undefined && this.#entries.get(id) !== known) await this.#unlink(known.name);
  }

  async #unlink(name: string): Promise<void> {
    await unlink(join(this.#directory, name)).catch((cause: unknown) => {
      if (!isAbsent(cause)) throw cause;
    });
  }

  /** Reads an entry; undefined if another process removed it meanwhile. */
  async #load(found: {
    readonly id: string;
    readonly name: string;
    readonly order: bigint;
  }): Promise<Entry | undefined> {
    try {
      const text = await readEntry(join(this.#directory, found.name));
      if (!found.name.endsWith(`~${digestOf(text)}.json`))
        return { ...found, content: undefined, fault: "does not match its digest" };
      return { ...found, content: this.#decode(found, text), fault: undefined };
    } catch (cause) {
      if (isAbsent(cause)) return undefined;
      return { ...found, content: undefined, fault: cause instanceof Error ? cause.message : String(cause) };
    }
  }

  #decode({ id, order }: { readonly id: string; readonly order: bigint }, text: string): EntryContent {
    const entry = JSON.parse(text) as {
      readonly format: unknown;
      readonly kind: unknown;
      readonly key: unknown;
      readonly file: unknown;
      readonly manifest: unknown;
    };
    if (entry.format !== format) throw new Error(`has format ${JSON.stringify(entry.format)}, expected ${format}`);
    const kind = restrictingKinds.get(String(entry.kind));
    if (kind === undefined) throw new Error(`has kind ${JSON.stringify(entry.kind)}, expected a kind that restricts`);
    const [decoded] = decode(entry.manifest, { cluster: this.#cluster, kinds: [kind] });
    if (decoded?.outcome !== "accepted")
      throw new Error(`is not valid any more: ${decoded?.issues[0]?.message ?? "no object"}`);
    if (idOf(kind, decoded.key) !== id || typeof entry.file !== "string")
      throw new Error("is of another object than its name says");
    return { kind, key: decoded.key, object: decoded.object, file: entry.file, storedAt: Number(order / 1_000_000n) };
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

const initializedMarker = "initialized";

function idOf(kind: Kind, key: string): string {
  const { namespace, name } = subjectOf(kind, key);
  const id = `${kind.kind}~${namespace}~${name}`;
  return id.length <= 160 ? id : `${kind.kind}~${createHash("sha256").update(key).digest("hex")}`;
}

/** Returns the object of an entry by the entry's name; undefined if the name is a digest. */
function identityIn(id: string): { readonly kind: Kind; readonly key: string } | undefined {
  const [kindName = "", namespace, name] = id.split("~");
  const kind = restrictingKinds.get(kindName);
  return kind === undefined || namespace === undefined || name === undefined
    ? undefined
    : { kind, key: `${namespace}/${name}` };
}

function parseName(name: string): { readonly id: string; readonly name: string; readonly order: bigint } | undefined {
  const match = /^([A-Za-z]+(?:~[^~]+){1,2})~(\d{20})~[0-9a-f]{32}\.json$/.exec(name);
  return match?.[1] === undefined || match[2] === undefined
    ? undefined
    : { id: match[1], name, order: BigInt(match[2]) };
}

function isAbove(
  a: { readonly order: bigint; readonly name: string },
  b: { readonly order: bigint; readonly name: string },
): boolean {
  return a.order > b.order || (a.order === b.order && a.name > b.name);
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
