import { type ApiClient, ApiError } from "@istiod/kubernetes";
import { ignoreMissing, removeObject } from "../kube/remove-object.js";
import { ObjectApplier } from "../sample/apply-objects.js";
import { askStatus, type StatusAnswer } from "./ask-status.js";
import type { Verdict, VerdictCase } from "./case.js";
import { type LocalReplica, runningReplicas } from "./replicas.js";

/** A case with what the tools said. */
export interface VerdictRow {
  readonly name: string;
  readonly kind: string;
  readonly expected: Verdict;
  /** The verdict that the exit status means, or what else happened. */
  readonly seen: string;
  readonly isRight: boolean;
  /** Seconds from the request to apply the object until the verdict. */
  readonly seconds: number;
  /** The output, or the denial. */
  readonly text: string;
}

const verdictOfExit: Readonly<Record<number, Verdict>> = {
  0: "live",
  3: "rejected",
  4: "ineffective",
  5: "incomplete",
};

/** Milliseconds in which the API server must have removed a deleted object. */

/** Applies the object of each case and asks a replica for its verdict, each replica in turn. */
export class VerdictRun {
  readonly #client: ApiClient;
  readonly #applier: ObjectApplier;
  #count = 0;

  constructor(client: ApiClient) {
    this.#client = client;
    this.#applier = new ObjectApplier(client);
  }

  /** Returns the cases whose kinds the API server serves. */
  async servedOf(cases: readonly VerdictCase[]): Promise<readonly VerdictCase[]> {
    const served: VerdictCase[] = [];
    for (const item of cases)
      if (await this.#applier.pathOf(item.object).then(() => true, ignoreMissing)) served.push(item);
    return served;
  }

  /**
   * Applies the object of a case, asks for its status until it is final, and deletes the object.
   *
   * @throws Error if no replica runs here, or the object is not removed, and ApiError if the API server fails
   */
  async ask(item: VerdictCase): Promise<VerdictRow> {
    const started = Date.now();
    const answer = await this.#answerOf(item);
    const seconds = (Date.now() - started) / 1000;
    await this.#remove(item);
    return rowOf(item, answer, seconds);
  }

  /**
   * Applies the object of a case, kills a replica, and asks another: at once, when the killed one cannot answer, and
   * with `--wait`, which waits until it answers again.
   */
  async askAfterKill(item: VerdictCase): Promise<readonly VerdictRow[]> {
    await this.#applier.apply([item.object]);
    const [asked, killed] = await this.#twoReplicas();
    process.kill(killed.pid, "SIGKILL");
    const started = Date.now();
    const once = await askStatus(asked, [nameOf(item)]);
    const words = `${killed.name} does not answer`;
    const incomplete: VerdictCase = { ...item, name: "a replica is killed", verdict: "incomplete", words };
    const first = rowOf(incomplete, once, (Date.now() - started) / 1000);
    const final = await askStatus(asked, ["--wait", nameOf(item)]);
    const last = rowOf({ ...item, name: `${item.name}, after the kill` }, final, (Date.now() - started) / 1000);
    await this.#remove(item);
    return [first, last];
  }

  async #answerOf(item: VerdictCase): Promise<StatusAnswer | ApiError> {
    try {
      await this.#applier.apply([item.object]);
    } catch (error) {
      if (error instanceof ApiError) return error;
      throw error;
    }
    return await askStatus(await this.#nextReplica(), ["--wait", nameOf(item)]);
  }

  async #nextReplica(): Promise<LocalReplica> {
    const replicas = await runningReplicas(this.#client);
    const replica = replicas[this.#count++ % Math.max(1, replicas.length)];
    if (replica === undefined) throw new Error("no replica of istiod runs on a node of this machine");
    return replica;
  }

  async #twoReplicas(): Promise<readonly [LocalReplica, LocalReplica]> {
    const [asked, killed] = await runningReplicas(this.#client);
    if (asked === undefined || killed === undefined) throw new Error("fewer than two replicas of istiod run here");
    return [asked, killed];
  }

  /** Deletes the object, and waits until a name can be used again. */
  async #remove({ object, verdict }: VerdictCase): Promise<void> {
    if (verdict === "denied") return;
    const path = await this.#applier.pathOf(object);
    await removeObject(this.#client, path);
  }
}

const nameOf = ({ object: { kind, metadata } }: VerdictCase): string =>
  `${kind}/${metadata.namespace ?? ""}/${metadata.name}`;

function rowOf(
  { name, object, verdict, words }: VerdictCase,
  answer: StatusAnswer | ApiError,
  seconds: number,
): VerdictRow {
  const text = answer instanceof ApiError ? answer.message : answer.output;
  const seen =
    answer instanceof ApiError ? deniedOr(answer) : (verdictOfExit[answer.exit ?? -1] ?? `exit ${answer.exit}`);
  return {
    name,
    kind: object.kind,
    expected: verdict,
    seen,
    isRight: seen === verdict && text.includes(words),
    seconds,
    text,
  };
}

function deniedOr({ message }: ApiError): string {
  return message.includes("denied the request") ? "denied" : `error: ${message}`;
}
