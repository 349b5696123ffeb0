import { type Code, codeOfProblem, levelOf, type LiveAnalysis, messageOfCode } from "@istiod/analysis";
import type { Ingestion, KubernetesSource } from "@istiod/config-ingestion";
import { istioKinds, type Kind } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import { type Clock, monotonicClock } from "@istiod/runtime";
import { analysisKey, type AnalysisResults, type AnalyzedObject } from "./analysis-status-controller.js";
import type { StatusMessage } from "./status-fields.js";

export interface StatusAnalysisOptions<C> {
  readonly analysis: Pick<LiveAnalysis<C>, "findings">;
  readonly database: Pick<Database<C>, "keys" | "observe">;
  readonly ingestion: Pick<Ingestion<C>, "problems" | "isDebouncing" | "pendingCount">;
  /** The cluster whose objects get a status. Those of other sources are left alone. */
  readonly cluster: Pick<KubernetesSource, "name" | "cluster" | "metadata">;
  /** Milliseconds within which a change is analyzed although changes keep coming (`PILOT_ANALYSIS_INTERVAL`). */
  readonly intervalMs: number;
  /** Default: the monotonic clock of the process. */
  readonly clock?: Clock;
}

/** Milliseconds without a further change after which results are published. */
const quietMs = 1000;

/**
 * The results of the continuous analysis for the status of one cluster's objects. They are published a second after a
 * burst of changes and once in every interval, while there is a listener: on the leader alone.
 */
export class StatusAnalysis<C> implements AnalysisResults {
  readonly #options: StatusAnalysisOptions<C>;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  readonly #stopObserving: () => void;
  #current: ReadonlyMap<string, AnalyzedObject> | undefined;
  /** Time of the first change that is not published; undefined while there is none. */
  #firstChange: number | undefined;
  #lastChange = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(options: StatusAnalysisOptions<C>) {
    this.#options = options;
    this.#clock = options.clock ?? monotonicClock;
    this.#stopObserving = options.database.observe({ after: () => this.#changed() });
  }

  current(): ReadonlyMap<string, AnalyzedObject> | undefined {
    return this.#current;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.#changed();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      // The next term starts with the results of its time.
      this.#current = undefined;
      this.#firstChange = undefined;
      this.#cancel();
    };
  }

  stop(): void {
    this.#stopObserving();
    this.#cancel();
    this.#listeners.clear();
  }

  #changed(): void {
    if (this.#listeners.size === 0) return;
    this.#lastChange = this.#clock.now();
    if (this.#firstChange !== undefined) return;
    this.#firstChange = this.#lastChange;
    this.#wait(quietMs);
  }

  #wait(ms: number): void {
    this.#cancel();
    this.#cancelTimer = this.#clock.after(ms, () => void this.#onTimer());
  }

  #cancel(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  async #onTimer(): Promise<void> {
    const { ingestion, intervalMs } = this.#options;
    if (this.#waitsForMore()) return;
    const findings = await this.#options.analysis.findings();
    if (this.#listeners.size === 0 || this.#waitsForMore()) return;
    this.#firstChange = undefined;
    // Rejections and generations that change nothing that is read make no commit.
    this.#wait(intervalMs);
    const messages = new MessagesByObject();
    for (const finding of findings) messages.add(finding.origin, finding.code, levelOf(finding));
    const { cluster } = this.#options;
    for (const problem of ingestion.problems())
      if (problem.subject !== undefined && problem.file === cluster.name)
        messages.add(problem.subject, codeOfProblem(problem));
    this.#current = this.#resultsOf(messages);
    for (const listener of this.#listeners) listener();
  }

  /** Reports whether the results are not due yet, and then waits for that. */
  #waitsForMore(): boolean {
    const { ingestion, intervalMs } = this.#options;
    const now = this.#clock.now();
    // A generation that is known belongs to the analyzed version once nothing is pending.
    const isPending = ingestion.isDebouncing || ingestion.pendingCount > 0;
    if (isPending) this.#firstChange ??= now;
    const quietAt = isPending ? now + quietMs : this.#lastChange + quietMs;
    const due = Math.min(quietAt, (this.#firstChange ?? -Infinity) + intervalMs);
    if (now < due) this.#wait(due - now);
    return now < due;
  }

  #resultsOf(messages: MessagesByObject): ReadonlyMap<string, AnalyzedObject> {
    const { database } = this.#options;
    const results = new Map<string, AnalyzedObject>();
    for (const kind of istioKinds) {
      const rejected = messages.namesOf(kind).map((object) => this.#keyOf(kind, object));
      for (const key of new Set([...database.keys(kind.collection), ...rejected])) {
        const generation = this.#options.cluster.metadata(kind, key)?.generation;
        if (generation === undefined) continue;
        const [name = "", namespace = ""] = key.split("/").reverse();
        const id = analysisKey({ group: kind.group, kind: kind.kind, namespace, name });
        results.set(id, { generation, messages: messages.of(id) });
      }
    }
    return results;
  }

  #keyOf(kind: Kind, object: { readonly namespace: string; readonly name: string }): string {
    return kind.key({ ...object, cluster: this.#options.cluster.cluster });
  }
}

type Subject = Parameters<typeof analysisKey>[0];

/** Messages about objects. */
class MessagesByObject {
  readonly #messages = new Map<string, StatusMessage[]>();
  readonly #subjects = new Map<string, Subject>();

  add(subject: Subject, code: Code, severity = messageOfCode(code).level): void {
    const key = analysisKey(subject);
    const messages = this.#messages.get(key) ?? [];
    messages.push({ ...messageOfCode(code), level: severity.toUpperCase() as StatusMessage["level"] });
    this.#messages.set(key, messages);
    this.#subjects.set(key, subject);
  }

  of(key: string): readonly StatusMessage[] {
    return this.#messages.get(key) ?? [];
  }

  /** Returns the objects of a kind that messages are about. */
  namesOf({ group, kind }: Kind): readonly Subject[] {
    return [...this.#subjects.values()].filter((subject) => subject.group === group && subject.kind === kind);
  }
}
