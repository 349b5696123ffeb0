import type { ClientView } from "../client-view.js";
import { CycleError } from "../errors.js";
import { Input } from "../inputs/input.js";
import { Call } from "../records/call.js";
import { Memo, nothing, stale, valid, type Dependency } from "../records/memo.js";
import { Refusal, type Question } from "../records/question.js";
import { Activation, enter, failCycle, leave } from "./activation.js";
import type { Engine } from "./engine.js";
import { Frame } from "./frame.js";
import { relink, unlink } from "./links.js";
import { overflowed, refusePromise, resolve } from "./resolve.js";

/**
 * The number of the client's answer to a question. An answer is kept until something changes that the fact read to give it.
 * Throws `CycleError` where the question is being answered, and what breaks the engine; what a fact throws is an answer.
 */
export function answerTo(engine: Engine, client: ClientView<unknown>, question: Question): number {
  const known = client.answers[question.id] as number;
  if (known > 0) return known;
  if (question.activeAt >= 0) failCycle(engine, question.activeAt);
  const memo = client.answerMemos.get(question.id) ?? null;
  if (
    memo !== null &&
    memo.validity !== stale &&
    !isCycle(question.answer(memo.value as number)) &&
    holds(engine, client, memo)
  ) {
    memo.validity = valid;
    memo.verifiedAt = engine.revision;
    return (client.answers[question.id] = memo.value as number);
  }
  return run(engine, client, question, memo);
}

/**
 * An answer needed to find a memo, before it is known that the query would ask for it now: 0 where it cannot be had. Facts are pure,
 * so asking in vain costs time only; but a cycle that is met on the way may not exist, and is forgotten.
 */
export function guess(engine: Engine, client: ClientView<unknown>, id: number): number {
  const question = engine.questions.byId[id];
  if (question === undefined || question.activeAt >= 0) return 0;
  const at = enter(engine, new Activation(null));
  try {
    return answerTo(engine, client, question);
  } catch (error) {
    if (error instanceof CycleError && !engine.broken) return 0;
    engine.broken = true;
    throw error;
  } finally {
    leave(engine, at);
  }
}

function isCycle(answer: unknown): boolean {
  return answer instanceof Refusal && answer.error instanceof CycleError;
}

/** Checks the dependencies in order, as for a query. What moved without a change of its result is exchanged. */
function holds(engine: Engine, client: ClientView<unknown>, memo: Memo): boolean {
  const activation = new Activation(memo.owner);
  const at = enter(engine, activation);
  const { dependencies, verifiedAt } = memo;
  let moved: Set<Dependency> | null = null;
  try {
    for (let i = 0; i < dependencies.length; i++) {
      const dependency = dependencies[i] as Dependency;
      if (typeof dependency === "number") continue;
      if (dependency.changedAt > verifiedAt) return false;
      if (dependency instanceof Input) continue;
      if (dependency.owner instanceof Call) {
        const now = resolve(engine, dependency.owner);
        if (now.changedAt > verifiedAt && now === dependency) return false;
        if (now === dependency) continue;
        if (now.failed !== dependency.failed || !Object.is(now.value, dependency.value)) return false;
        moved ??= new Set(dependencies);
        moved.delete(dependency);
        moved.add(now);
        for (const answer of client.answersOn(now.path)) moved.add(answer);
      } else {
        answerTo(engine, client, dependency.owner);
        if (dependency.changedAt > verifiedAt) return false;
      }
    }
    engine.verifications++;
    if (moved !== null) relink(engine, memo, [...moved]);
    return true;
  } catch (error) {
    if (activation.poison === null) throw error;
    return false;
  } finally {
    leave(engine, at);
  }
}

function run(engine: Engine, client: ClientView<unknown>, question: Question, previous: Memo | null): number {
  const frame = new Frame(engine, question, client, null);
  const outer = engine.frame;
  const at = enter(engine, frame);
  engine.frame = frame;
  engine.answers++;
  if (question.paths === 0) engine.retention.idle(question, engine.revision);
  let answer: unknown;
  try {
    answer = question.fact.compute(client.client as never, question.arg as never, frame);
    refusePromise(question, answer);
  } catch (error) {
    if (overflowed(error)) engine.broken = true;
    answer = new Refusal(error);
  }
  engine.frame = outer;
  leave(engine, at);
  if (engine.broken) throw answer instanceof Refusal ? answer.error : answer;
  let dependencies = frame.dependencies();
  frame.path();
  const poison = frame.poison;
  if (poison !== null) {
    if (poison.guessed) {
      engine.retention.abandon(engine, dependencies);
      throw poison.error;
    }
    answer = new Refusal(poison.error);
    if (poison.head !== at) dependencies = [...dependencies, engine.inputs.everyRevision];
  }
  return keep(engine, client, question, previous, answer, dependencies);
}

function keep(
  engine: Engine,
  client: ClientView<unknown>,
  question: Question,
  previous: Memo | null,
  answer: unknown,
  dependencies: readonly Dependency[],
): number {
  const size = question.size;
  const number = question.number(answer);
  if (question.size > size) engine.newAnswers++;
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
  client.reach(question.id);
  return (client.answers[question.id] = number);
}

/** Lets go of an answer and of what it was made from. */
export function dropAnswer(engine: Engine, memo: Memo): void {
  for (const dependency of memo.dependencies) if (typeof dependency !== "number") unlink(engine, dependency, memo);
  memo.dependencies = nothing;
}
