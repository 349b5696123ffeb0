import { isInstance, isRecord, ReplicaError, type ReplicaInstance } from "./replica.js";

/** The answer of one replica. */
export interface ReplicaAnswer<T> {
  readonly instance: ReplicaInstance;
  readonly answer: T;
}

/** A replica that answered that it cannot answer, such as for an unknown resource. */
export interface ReplicaFailure {
  readonly instance: ReplicaInstance;
  readonly error: string;
}

/** A replica without an answer. */
export interface SilentReplica {
  readonly name: string;
  readonly reason: string;
}

/** The answers of all replicas to one command, sorted by name. */
export interface Gathered<T> {
  readonly answers: readonly ReplicaAnswer<T>[];
  readonly failures: readonly ReplicaFailure[];
  readonly silent: readonly SilentReplica[];
}

/** Checks an answer and returns it. @throws ReplicaError `malformed` */
export type Decode<T> = (answer: unknown) => T;

/** Decodes the answers. Replicas whose answer has another form are silent. */
export function decodeAnswers<T>({ answers, failures, silent }: Gathered<unknown>, decode: Decode<T>): Gathered<T> {
  const decoded: ReplicaAnswer<T>[] = [];
  const malformed: SilentReplica[] = [];
  for (const { instance, answer } of answers) {
    try {
      decoded.push({ instance, answer: decode(answer) });
    } catch (error) {
      if (!(error instanceof ReplicaError)) throw error;
      malformed.push({ name: instance.name, reason: `${error.message} (version ${instance.version})` });
    }
  }
  return { answers: decoded, failures, silent: [...silent, ...malformed].sort(byName) };
}

/** Joins several results into one. A replica that answered several times counts once. */
export function joinGathered<T>(all: readonly Gathered<T>[]): Gathered<T> {
  const once = <R extends { readonly instance: ReplicaInstance }>(list: readonly R[]): readonly R[] =>
    [...new Map(list.map((each) => [each.instance.id, each])).values()].sort(
      (a, b) => byName(a.instance, b.instance) || a.instance.startedAt - b.instance.startedAt,
    );
  const silent = new Map(all.flatMap((each) => each.silent).map((each) => [`${each.name}\0${each.reason}`, each]));
  return distinctNames({
    answers: once(all.flatMap(({ answers }) => answers)),
    failures: once(all.flatMap(({ failures }) => failures)),
    silent: [...silent.values()].sort(byName),
  });
}

/** Parses the JSON form of a result. @throws ReplicaError `malformed` */
export function parseGathered(value: unknown): Gathered<unknown> {
  const lists = isRecord(value) ? [value["answers"], value["failures"], value["silent"]] : [];
  const [answers, failures, silent] = lists;
  if (!Array.isArray(answers) || !Array.isArray(failures) || !Array.isArray(silent))
    throw new ReplicaError("malformed", "is no list of the answers of replicas");
  const isValid =
    answers.every((each) => isRecord(each) && isInstance(each["instance"]) && each["answer"] !== undefined) &&
    failures.every((each) => isRecord(each) && isInstance(each["instance"]) && typeof each["error"] === "string") &&
    silent.every((each) => isRecord(each) && typeof each["name"] === "string" && typeof each["reason"] === "string");
  if (!isValid) throw new ReplicaError("malformed", "has an answer of another form");
  return value as Gathered<unknown>;
}

/** Numbers replicas of one name, such as several on one host. */
function distinctNames<T>(gathered: Gathered<T>): Gathered<T> {
  const instances = [...gathered.answers, ...gathered.failures].map(({ instance }) => instance);
  const ofName = new Map<string, ReplicaInstance[]>();
  for (const instance of instances) ofName.set(instance.name, [...(ofName.get(instance.name) ?? []), instance]);
  const renamed = new Map<string, string>();
  for (const [name, same] of ofName) {
    if (same.length === 1) continue;
    const oldestFirst = [...same].sort((a, b) => a.startedAt - b.startedAt || (a.id < b.id ? -1 : 1));
    for (const [i, { id }] of oldestFirst.entries()) renamed.set(id, `${name}#${i + 1}`);
  }
  if (renamed.size === 0) return gathered;
  const rename = <R extends { readonly instance: ReplicaInstance }>(each: R): R => ({
    ...each,
    instance: { ...each.instance, name: renamed.get(each.instance.id) ?? each.instance.name },
  });
  return { ...gathered, answers: gathered.answers.map(rename), failures: gathered.failures.map(rename) };
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
