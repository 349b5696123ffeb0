import { CycleError } from "../errors.js";
import { Call } from "../records/call.js";
import type { Client } from "../records/client.js";
import { Memo, stale, valid, type Dependency } from "../records/memo.js";
import { ThrownAnswer, type Question } from "../records/question.js";
import { ActiveComputation } from "./active-stack.js";
import { relink } from "./edges.js";
import type { Engine } from "./engine.js";
import { fetch } from "./fetch.js";
import { Frame } from "./frame.js";
import { recordOverflow } from "./record-overflow.js";
import { isStackOverflow } from "./stack-overflow.js";
import { rejectPromise } from "./purity.js";

/**
 * Returns the number of the client's answer to a question. An answer is kept until a dependency of the fact changes. An
 * error that the fact throws is an answer. Throws `CycleError` if the question is being answered already, and errors
 * that leave the records incomplete.
 */
export function answer(engine: Engine, client: Client, question: Question): number {
  const known = client.answers[question.id] as number;
  if (known > 0) return known;
  if (question.activeAt >= 0) engine.active.failCycle(question.activeAt);
  const memo = client.answerMemos.get(question.id) ?? null;
  if (memo === null || memo.validity === stale || isCycle(question, memo) || !verify(engine, client, memo)) {
    return execute(engine, client, question, memo);
  }
  memo.validity = valid;
  memo.verifiedAt = engine.revision;
  return (client.answers[question.id] = memo.value as number);
}

function isCycle(question: Question, memo: Memo): boolean {
  const answer = question.answer(memo.value as number);
  return answer instanceof ThrownAnswer && answer.error instanceof CycleError;
}

/**
 * Verifies the dependencies in order, as for a query. Replaces those whose call moved to another memo with the same
 * result.
 */
function verify(engine: Engine, client: Client, memo: Memo): boolean {
  const computation = new ActiveComputation(memo.owner, false);
  const at = engine.active.push(computation);
  let moved: Set<Dependency> | null = null;
  try {
    for (const dependency of memo.dependencies) {
      if (typeof dependency === "number") continue;
      if (dependency.changedAt > memo.verifiedAt) return false;
      if (!(dependency instanceof Memo)) continue;
      const now = currentMemo(engine, client, dependency, memo.verifiedAt);
      if (now === null) return false;
      if (now === dependency) continue;
      moved ??= new Set(memo.dependencies);
      moved.delete(dependency);
      moved.add(now);
      for (const answerMemo of client.answersOn(now.path)) moved.add(answerMemo);
    }
    engine.counters.verifications++;
    if (moved !== null) relink(engine, memo, [...moved]);
    return true;
  } catch (error) {
    if (computation.poison === null) throw error;
    // It would be verified again whenever the cycle is entered elsewhere.
    memo.validity = stale;
    return false;
  } finally {
    engine.active.pop(at);
  }
}

/** Returns the valid memo that replaces a dependency; null if its result changed after a revision. */
function currentMemo(engine: Engine, client: Client, dependency: Memo, since: number): Memo | null {
  if (!(dependency.owner instanceof Call)) {
    answer(engine, client, dependency.owner as Question);
    return dependency.changedAt > since ? null : dependency;
  }
  const now = fetch(engine, dependency.owner);
  if (now === dependency) return now.changedAt > since ? null : now;
  return now.failed === dependency.failed && Object.is(now.value, dependency.value) ? now : null;
}

function execute(engine: Engine, client: Client, question: Question, previous: Memo | null): number {
  const { active, unused } = engine;
  const frame = new Frame(engine, question, client, null);
  const outer = active.running;
  const at = active.push(frame);
  active.running = frame;
  engine.counters.answers++;
  if (question.paths === 0) unused.addQuestion(question, engine.revision);
  let result = run(engine, client, question, frame);
  active.running = outer;
  active.pop(at);
  if (active.broken) throw result instanceof ThrownAnswer ? result.error : result;
  let dependencies = frame.endDependencies();
  frame.endPath();
  if (frame.poison !== null) {
    const { error, head, speculative } = frame.poison;
    if (speculative) {
      unused.addDependencies(dependencies, engine.revision);
      throw error;
    }
    result = new ThrownAnswer(error);
    if (head !== at) dependencies = [...dependencies, engine.inputs.revisionInput];
  }
  return settle(engine, client, question, previous, result, dependencies);
}

function run(engine: Engine, client: Client, question: Question, frame: Frame): unknown {
  try {
    const result = question.fact.compute(client.value as never, question.arg as never, frame);
    rejectPromise(question, result);
    return result;
  } catch (error) {
    if (isStackOverflow(error)) recordOverflow(engine, frame, error);
    return new ThrownAnswer(error);
  }
}

/** Records an answer. An answer without reads needs no memo. */
function settle(
  engine: Engine,
  client: Client,
  question: Question,
  previous: Memo | null,
  result: unknown,
  dependencies: readonly Dependency[],
): number {
  const number = engine.store.questions.number(question, result);
  let memo = previous;
  if (memo === null) {
    if (dependencies.length > 0) {
      memo = new Memo(question, client, number, engine.revision);
      client.answerMemos.set(question.id, memo);
    }
  } else if (memo.value !== number) {
    memo.value = number;
    memo.changedAt = engine.revision;
  }
  if (memo !== null) {
    memo.validity = valid;
    memo.verifiedAt = engine.revision;
    relink(engine, memo, dependencies);
  }
  client.reserve(question.id);
  return (client.answers[question.id] = number);
}
