import { unlinkAll } from "../evaluation/edges.js";
import type { Engine } from "../evaluation/engine.js";
import type { Question } from "../records/question.js";

/** Unused answers of questions with fewer answers are not searched for. */
const fewestAnswersSearched = 32;

/** Drops questions that no path asks, with every client's answer. Questions that other facts asked are kept. */
export function dropQuestions(engine: Engine, questions: readonly Question[]): void {
  for (const question of questions) {
    if (question.paths > 0 || engine.store.questions.byId[question.id] !== question) continue;
    if (hasDependents(engine, question)) {
      engine.unused.addQuestion(question, engine.revision);
      continue;
    }
    for (const client of engine.clients) {
      const memo = client.dropAnswer(question.id);
      if (memo !== undefined) unlinkAll(engine, memo);
    }
    engine.store.questions.drop(question);
  }
}

function hasDependents(engine: Engine, question: Question): boolean {
  for (const { answerMemos } of engine.clients) {
    const memo = answerMemos.get(question.id);
    if (memo !== undefined && memo.dependents !== null) return true;
  }
  return false;
}

/** Drops the answers that no client has and that are on no path. */
export function dropUnusedAnswers(engine: Engine): void {
  const { paths, questions } = engine.store;
  questions.addedAnswers = 0;
  const used = new Map<number, Set<number>>();
  for (const question of questions.byId) {
    if (question !== undefined && question.size > fewestAnswersSearched) used.set(question.id, new Set());
  }
  if (used.size === 0) return;
  for (const client of engine.clients) {
    for (const [id, numbers] of used) {
      if (id < client.answers.length) numbers.add(Math.abs(client.answers[id] as number));
    }
  }
  for (const path of paths) {
    for (let i = 0; i < path.steps.length; i += 2) used.get(path.steps[i] as number)?.add(path.steps[i + 1] as number);
  }
  for (const [id, numbers] of used) questions.byId[id]?.keepOnly(numbers);
}
