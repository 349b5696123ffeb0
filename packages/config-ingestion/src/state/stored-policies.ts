import { stat } from "node:fs/promises";
import { join, relative } from "node:path";
import type { Problem } from "@istiod/config-schema";
import { IngestionError } from "../errors.js";
import { type FileState, isSameState } from "../files/read-regular-file.js";
import type { Ledger } from "../ledger/ledger.js";
import type { StoredVersions } from "../ledger/stored-versions.js";
import { LastGoodStore, type LastGoodStoreOptions } from "./last-good-store.js";

/** A directory of configuration as it was last scanned. */
export interface ScannedDirectory {
  readonly directory: string;
  /** Directories that cannot be read, with the reason. */
  faults(): ReadonlyMap<string, string>;
}

/** The last good versions of the policies of a directory: in a store if there is one, and otherwise in memory only. */
export class StoredPolicies {
  readonly #tree: ScannedDirectory;
  readonly #store: LastGoodStore | undefined;
  /** State in which each file was last read. */
  readonly #states = new Map<string, FileState>();
  /** Files of directories that cannot be read, which another process read before, with the directories. */
  readonly #expected = new Map<string, string>();
  #wasRead = false;

  /** @param store undefined: versions are kept in memory only */
  constructor(tree: ScannedDirectory, store: Omit<LastGoodStoreOptions, "origin"> | undefined) {
    this.#tree = tree;
    this.#store = store && new LastGoodStore({ ...store, origin: "files" });
  }

  /** The stored versions for a ledger, whose files are named by their whole paths; undefined without a store. */
  get versions(): StoredVersions | undefined {
    const store = this.#store;
    if (store === undefined) return undefined;
    return {
      lastGood: (kind, key) => store.lastGood(kind, key),
      definedIn: (file) => store.definedIn(this.#nameOf(file)).map((definition) => ({ ...definition, file })),
    };
  }

  /** Opens the store. `changed` is called when another process changes it. */
  async start(changed: () => void): Promise<void> {
    await this.#store?.start(changed);
  }

  stop(): void {
    this.#store?.stop();
  }

  problems(): readonly Problem[] {
    return this.#store?.problems() ?? [];
  }

  /** Notes that a file was read. */
  fileRead(file: string, state: FileState): void {
    this.#states.set(file, state);
  }

  /** Notes that a file is gone. */
  fileRemoved(file: string): void {
    this.#states.delete(file);
  }

  /**
   * Checks that something which cannot be read at startup hides no policy that a process enforced before.
   *
   * @throws IngestionError if no store tells
   */
  requireKnown(path: string, reason: string): void {
    if (this.#wasRead || this.#store?.isInitialized === true) return;
    throw new IngestionError(
      "unreadable",
      `${path} ${reason}: its policies are unknown, and istiod does not start without them; expected files that this user may read, or --stateDir with the last good policies`,
    );
  }

  /** Consults the versions that this process and others have stored, before a ledger decides what applies. */
  async consult(ledger: Ledger): Promise<void> {
    for (const [path, reason] of this.#tree.faults()) this.requireKnown(path, reason);
    if (this.#store === undefined) return;
    if (await this.#store.refresh()) ledger.reconsiderRejected();
    this.#expectFiles(this.#store, ledger);
    ledger.addStoredDefinitions();
  }

  /** Stores the versions that are about to apply, so that they are known wherever they are enforced. */
  async store(ledger: Ledger): Promise<void> {
    this.#wasRead = true;
    const { accepted, deleted } = ledger.takeStoreChanges();
    if (this.#store === undefined) return;
    const versions = accepted.map(async ({ file, ...version }) => {
      const state = this.#states.get(file);
      const isCurrent = state !== undefined && (await isUnchanged(file, state));
      return { ...version, file: this.#nameOf(file), order: state?.ctimeNs ?? 0n, isCurrent };
    });
    await this.#store.record(await Promise.all(versions));
    await this.#store.forget(deleted);
    const isComplete = ledger.isComplete && this.#tree.faults().size === 0;
    if (isComplete) await this.#store.completeWith((kind, key) => ledger.isDefined(kind, key));
  }

  /** Counts the files of unreadable directories that another process has read as unreadable files. */
  #expectFiles(store: LastGoodStore, ledger: Ledger): void {
    const faults = this.#tree.faults();
    for (const [file, directory] of this.#expected) {
      if (faults.has(directory)) continue;
      this.#expected.delete(file);
      if (!this.#states.has(file)) ledger.removeFile(file);
    }
    for (const [directory, reason] of faults)
      for (const name of store.filesBelow(this.#nameOf(directory))) {
        const file = join(this.#tree.directory, name);
        if (this.#states.has(file) || this.#expected.has(file)) continue;
        this.#expected.set(file, directory);
        ledger.markUnreadable(file, `is in ${directory}, which ${reason}`);
      }
  }

  /** Returns the name of a file in the store, which does not depend on where the directory is mounted. */
  #nameOf(file: string): string {
    return relative(this.#tree.directory, file);
  }
}

async function isUnchanged(file: string, state: FileState): Promise<boolean> {
  return stat(file, { bigint: true }).then(
    (now) => isSameState(now, state),
    () => false,
  );
}
