import type { Transaction } from "@istiod/incremental";
import { formatProblem, parseYaml, type Problem, type Report } from "@istiod/config-schema";
import { IngestionError } from "../errors.js";
import type { Source, SourceUpdate } from "../ingestion/source.js";
import type { SyncState } from "../ingestion/sync-state.js";
import type { DocumentPlace, PlacedText } from "./document-place.js";

/** A parsed document of a place. */
export interface PlacedDocument {
  readonly value: unknown;
  /** Receives the faults of this document. */
  readonly report: Report;
}

export interface DocumentSourceOptions<V> {
  /** In the order in which documents apply. */
  readonly places: readonly DocumentPlace[];
  /**
   * Decodes the documents that exist, in the order of their places. Returns undefined if it reported an error to one of
   * them.
   */
  decode(documents: readonly PlacedDocument[]): V | undefined;
  write(tx: Transaction, value: V): void;
}

/**
 * One value that is read from the documents of one or several places. A place without a document is skipped.
 *
 * An invalid document at startup is an error. Later it is a problem, and the last good version of this document stays
 * active, also when the document disappears.
 */
export class DocumentSource<V> implements Source {
  readonly name: string;
  readonly #layers: readonly Layer[];
  readonly #options: DocumentSourceOptions<V>;
  #value: V | undefined;

  constructor(options: DocumentSourceOptions<V>) {
    this.#options = options;
    this.name = options.places.map(({ name }) => name).join(" and ");
    this.#layers = options.places.map((place) => new Layer(place));
  }

  async start(changed: () => void): Promise<void> {
    for (const { place } of this.#layers) await place.start(changed);
  }

  async read(): Promise<SourceUpdate> {
    const texts = await Promise.all(this.#layers.map(({ place }) => place.read()));
    const before = this.#value;
    const isChanged = this.#layers.map((layer, i) => layer.offer(texts[i] ?? { text: undefined })).includes(true);
    if (isChanged || before === undefined) this.#value = this.#decode() ?? before;
    const value = this.#value;
    const problems = this.#layers.flatMap((layer) => layer.problems);
    const isRejected = value === undefined || (before === undefined && problems.some(isError));
    if (isRejected) throw new IngestionError("invalid", problems.filter(isError).map(formatProblem).join("\n"));
    return { apply: (tx) => (value === before ? undefined : this.#options.write(tx, value)), problems };
  }

  /** Returns the state of the first place that is not synced. */
  syncState(): SyncState {
    const states = this.#layers.flatMap(({ place }) => place.syncState?.() ?? []);
    return states.find(({ state }) => state !== "synced") ?? { state: "synced" };
  }

  stop(): void {
    for (const { place } of this.#layers) place.stop();
  }

  /** Decodes all documents. A document with an error is replaced by its last good version until none has one. */
  #decode(): V | undefined {
    for (;;) {
      const value = this.#options.decode(this.#layers.flatMap((layer) => layer.document() ?? []));
      const rejected = this.#layers.filter((layer) => layer.isRejected);
      if (value !== undefined && rejected.length === 0) {
        for (const layer of this.#layers) layer.accept();
        return value;
      }
      if (rejected.map((layer) => layer.revert()).includes(true)) continue;
      // A document that is good by itself does not fit one that changed.
      const names = rejected.map(({ place }) => place.name).join(", ");
      if (!this.#layers.map((layer) => layer.revertBecause(`does not fit ${names}`)).includes(true)) return undefined;
    }
  }
}

interface Version {
  readonly value: unknown;
  readonly lineOf: (path: Problem["path"]) => number;
  readonly wordAt: Report["wordAt"];
}

/** The document of one place, with its last good version. */
class Layer {
  readonly place: DocumentPlace;
  #problems: Problem[] = [];
  /** Version to decode. Undefined: there is none. */
  #candidate: Version | undefined;
  #lastGood: Version | undefined;
  #read: PlacedText | undefined;
  #isReverted = false;
  isRejected = false;

  constructor(place: DocumentPlace) {
    this.place = place;
  }

  get problems(): readonly Problem[] {
    return this.#problems;
  }

  /** Takes what was read. Returns whether the document must be decoded. */
  offer(read: PlacedText): boolean {
    if (this.#read !== undefined && read.text === this.#read.text && read.fault === this.#read.fault) return false;
    this.#read = read;
    this.#problems = [];
    this.#isReverted = false;
    const fault = this.#faultOf(read);
    if (fault !== undefined) {
      this.#keepLastGood(fault);
      return false;
    }
    if (read.text === undefined) return true;
    const parsed = parseYaml({ text: read.text, line: 1 });
    if ("message" in parsed) {
      this.#report("error", parsed.line, [], `is not YAML: ${parsed.message}`);
      this.#isReverted = true;
      return false;
    }
    this.#candidate = { value: parsed.value, lineOf: parsed.lineOf, wordAt: parsed.wordAt };
    return true;
  }

  /** Returns the document to decode; undefined if there is none. */
  document(): PlacedDocument | undefined {
    this.isRejected = false;
    const version = this.#candidate;
    if (version === undefined) return undefined;
    // The problems of the rejected version are kept.
    if (!this.#isReverted) this.#problems = [];
    const error: Report["error"] = (path, message) => {
      this.isRejected = true;
      if (!this.#isReverted) this.#report("error", version.lineOf(path), path, message);
    };
    const warning: Report["warning"] = (path, message) => {
      if (!this.#isReverted) this.#report("warning", version.lineOf(path), path, message);
    };
    return { value: version.value, report: { error, warning, wordAt: version.wordAt } };
  }

  /** Returns to the last good version. Returns false if this was done before. */
  revert(): boolean {
    if (this.#isReverted) return false;
    this.#isReverted = true;
    this.#candidate = this.#lastGood;
    return true;
  }

  /** Returns to the last good version because of other documents. Returns false if it is active already. */
  revertBecause(reason: string): boolean {
    if (this.#candidate === this.#lastGood || !this.revert()) return false;
    this.#keepLastGood(reason);
    return true;
  }

  /** Makes the decoded version the last good one. */
  accept(): void {
    this.#lastGood = this.#candidate;
  }

  #faultOf({ text, fault }: PlacedText): string | undefined {
    if (fault !== undefined) return fault;
    if (this.#lastGood === undefined) return undefined;
    if (text === undefined) return "does not exist";
    return text.trim() === "" ? "is empty (write {} for the defaults)" : undefined;
  }

  #keepLastGood(reason: string): void {
    this.#isReverted = true;
    this.#report(
      "error",
      0,
      [],
      this.#lastGood === undefined ? reason : `${reason}; the last good version stays active`,
    );
  }

  #report(severity: Problem["severity"], line: number, path: Problem["path"], message: string): void {
    this.#problems.push({ severity, file: this.place.name, line, path, message });
  }
}

function isError({ severity }: Problem): boolean {
  return severity === "error";
}
