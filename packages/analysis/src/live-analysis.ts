import { readFile } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { type Ledger } from "@istiod/config-ingestion";
import { type Kind, type Problem } from "@istiod/config-schema";
import { type Clock, monotonicClock, pauseEvery } from "@istiod/runtime";
import type { Collection, Commit, Database, View } from "@istiod/incremental";
import { type AddedFindings, addedFindings, type ObjectWrite } from "./added-findings.js";
import type { Finding } from "./finding.js";
import { type AttachedObject, deployedGateways } from "./queries/deployed-gateways.js";
import { type PoolService, poolServiceOf } from "./queries/pool-services.js";
import { reasonWithoutProxies } from "./queries/reasons-without-effect.js";
import { computeByObject, findings } from "./findings.js";
import { nowPrecision, writeNow } from "./now.js";
import { writeServed } from "./served.js";
import { FileLines, messageAt } from "./messages/places.js";
import { type Message, messageOfFinding, messageOfProblem, sortMessages } from "./messages/message.js";
import { isSuppressedByObject } from "./messages/suppression.js";

export interface LiveAnalysisOptions<C> {
  readonly database: Database<C>;
  /** The client of the analysis's own view of the database. Findings do not depend on it. */
  readonly client: C;
  /** The kinds that sources read. */
  readonly kinds: readonly Kind[];
  /** The sources that locate the definitions of objects. */
  readonly sources: readonly Pick<Ledger, "locate">[];
  readonly problems: () => readonly Problem[];
  /** Called with new and resolved findings, some time after a commit. */
  readonly changed?: (found: readonly Finding[], gone: readonly Finding[]) => void;
  /**
   * Yields to the event loop between slices of the first analysis and of the search for lines, and before a commit is
   * analyzed. Default: `setImmediate`.
   */
  readonly turn?: () => Promise<unknown>;
  /** The time in milliseconds since the Unix epoch. Default: `Date.now`. */
  readonly time?: () => number;
  /** Timers. Default: the clock of the process. */
  readonly clock?: Pick<Clock, "after">;
}

/** Milliseconds after which the event loop gets a turn. */
const sliceMs = 8;

/**
 * The current findings about a database. A commit only recomputes the findings that read its changes.
 */
export class LiveAnalysis<C> {
  readonly #options: LiveAnalysisOptions<C>;
  readonly #view: View<C>;
  readonly #stopObserving: () => void;
  #findings: readonly Finding[] | undefined;
  /** Revision of the findings. */
  #revision: number | undefined;
  #started: Promise<void> | undefined;
  /** By identity, in the order in which they were found. */
  readonly #new = new Map<string, Finding>();
  /** True if a commit that may change findings has not been analyzed yet. */
  #waiting = false;
  #stopped = false;
  #cancelTimer = (): void => undefined;

  constructor(options: LiveAnalysisOptions<C>) {
    this.#options = options;
    this.#view = options.database.view(options.client);
    this.#stopObserving = options.database.observe({ after: (commit) => this.#committed(commit) });
  }

  /**
   * Runs the first analysis, in slices. Resolves when it is complete; later calls wait for the same analysis.
   */
  start(): Promise<void> {
    return (this.#started ??= this.#analyzeAll());
  }

  /** Returns the findings at the current revision that are not suppressed, after the first analysis is complete. */
  async findings(): Promise<readonly Finding[]> {
    await this.start();
    this.#refresh();
    return this.#findings ?? [];
  }

  /**
   * Returns the findings that writing an object would add; undefined before the first analysis is complete.
   *
   * @param withinMs milliseconds after which the findings that are known then are returned
   */
  async findingsAddedBy(write: ObjectWrite, withinMs: number): Promise<AddedFindings | undefined> {
    if (this.#findings === undefined || this.#stopped) return undefined;
    return addedFindings(this.#options.database, this.#view, write, { withinMs, turn: () => this.#turn() });
  }

  /** Returns the findings that appeared after the first analysis, newest first. */
  async newFindings(): Promise<readonly Finding[]> {
    await this.findings();
    return [...this.#new.values()].reverse();
  }

  /** Returns why the objects of a collection cannot reach a proxy; undefined if they can. */
  reasonWithoutEffect(of: Collection<unknown>): string | undefined {
    return this.#view.call(reasonWithoutProxies, of);
  }

  /**
   * Returns the Gateways of the Gateway API that an object is, or is attached to, and whose workloads istiod deploys in
   * a cluster, as `namespace/name`.
   */
  deployedGateways({ kind, namespace, name }: AttachedObject): readonly string[] {
    return this.#view.call(deployedGateways, { kind, namespace, name });
  }

  /** Returns the Service that istiod writes for an InferencePool; undefined for other objects, or if none is needed. */
  writtenService({ kind, namespace, name }: AttachedObject): PoolService | undefined {
    return kind === "InferencePool" ? this.#view.call(poolServiceOf, `${namespace}/${name}`) : undefined;
  }

  async #analyzeAll(): Promise<void> {
    if (this.#stopped) return;
    this.#writeTime();
    const pause = pauseEvery(sliceMs, () => this.#turn());
    for (const _ of computeByObject(this.#options.database, this.#view)) {
      await pause();
      if (this.#stopped) return;
    }
    this.#refresh();
  }

  /** Schedules the analysis of a commit. Does nothing before `start` has finished. */
  #committed(commit: Commit): void {
    if (this.#findings === undefined || this.#waiting) return;
    if (!commit.affected.some(({ view }) => view === (this.#view as View<unknown>))) return;
    this.#waiting = true;
    void this.#turn().then(() => {
      this.#waiting = false;
      this.#refresh();
    });
  }

  #refresh(): void {
    const { database, changed } = this.#options;
    if (this.#stopped || this.#revision === database.revision) return;
    this.#revision = database.revision;
    const before = this.#findings;
    const after = this.#view.follow(findings).filter((finding) => !isSuppressedByObject(database, finding));
    this.#findings = after;
    const found = added(before ?? [], after);
    const gone = added(after, before ?? []);
    for (const finding of gone) this.#new.delete(identityOf(finding));
    if (before !== undefined) for (const finding of found) this.#new.set(identityOf(finding), finding);
    if (found.length + gone.length > 0) changed?.(found, gone);
  }

  /** Writes the time now and at the start of each hour. */
  #writeTime(): void {
    const { database, time = Date.now, clock = monotonicClock } = this.#options;
    const written = time();
    database.commit((tx) => {
      writeNow(tx, written);
      writeServed(tx);
    });
    this.#cancelTimer = clock.after(nowPrecision - (written % nowPrecision), () => this.#writeTime());
  }

  #turn(): Promise<unknown> {
    return (this.#options.turn ?? setImmediate)();
  }

  /** Returns the messages of all findings and of the problems of documents, with current line numbers. */
  async messages(): Promise<readonly Message[]> {
    const placed = await this.place(await this.findings());
    return sortMessages([...this.#options.problems().map(messageOfProblem), ...placed]);
  }

  /** Returns the messages of findings with their locations; with the object's line if a file cannot be read. */
  async place(of: readonly Finding[]): Promise<readonly Message[]> {
    const { kinds, sources } = this.#options;
    const files = new Set(of.flatMap(({ origin }) => this.#fileOf(origin) ?? []));
    const texts = await Promise.all(
      [...files].map(async (file) => [file, await readFile(file, "utf8").catch(() => "")] as const),
    );
    const places = { kinds, ledgers: sources, lines: new FileLines(new Map(texts)), inMesh: () => undefined };
    const messages: Message[] = [];
    const pause = pauseEvery(sliceMs, () => this.#turn());
    for (const finding of of) {
      await pause();
      messages.push(messageAt(finding, places) ?? messageOfFinding(finding));
    }
    return messages;
  }

  /** Stops observing commits and writing the time, and releases the view. */
  stop(): void {
    this.#stopped = true;
    this.#stopObserving();
    this.#cancelTimer();
    this.#view.release();
  }

  #fileOf(origin: Finding["origin"]): string | undefined {
    const kind = this.#options.kinds.find(({ kind: name, group }) => name === origin.kind && group === origin.group);
    for (const source of kind === undefined ? [] : this.#options.sources) {
      const at = kind && source.locate(kind, origin.key);
      if (at !== undefined) return at.file;
    }
    return undefined;
  }
}

/** Returns the findings that only the second list has. Unchanged findings are the same object in both lists. */
function added(before: readonly Finding[], after: readonly Finding[]): readonly Finding[] {
  const [had, has] = [new Set(before), new Set(after)];
  const lost = new Set(before.filter((finding) => !has.has(finding)).map(identityOf));
  return after.filter((finding) => !had.has(finding) && !lost.has(identityOf(finding)));
}

function identityOf({ code, origin, path, message }: Finding): string {
  return JSON.stringify([code, origin.kind, origin.key, path, message]);
}
