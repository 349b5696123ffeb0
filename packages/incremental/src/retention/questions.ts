import { dropAnswer } from "../evaluation/answer.js";
import type { Engine } from "../evaluation/engine.js";
import type { Question } from "../records/question.js";

/** Few answers are not worth a search for those that nobody gives any more. */
const fewAnswers = 32;

/** Drops questions that no path asks, with every client's answer. One that another fact asked waits on. */
export function dropQuestions(engine: Engine, questions: readonly Question[]): void {
  for (const question of questions) {
    if (question.paths > 0 || engine.questions.byId[question.id] !== question) continue;
    let needed = false;
    for (const client of engine.clients) needed ||= (client.answerMemos.get(question.id)?.dependents ?? null) !== null;
    if (needed) {
      engine.retention.idle(question, engine.revision);
      continue;
    }
    for (const client of engine.clients) {
      const memo = client.answerMemos.get(question.id);
      if (memo !== undefined) dropAnswer(engine, memo);
      client.answerMemos.delete(question.id);
      if (question.id < client.answers.length) client.answers[question.id] = 0;
    }
    engine.questions.drop(question);
  }
}

/** Forgets the answers that no client gives and no path expects. */
export function forgetAnswers(engine: Engine): void {
  engine.newAnswers = 0;
  const used = new Map<number, Set<number>>();
  for (const question of engine.questions.byId)
    if (question !== undefined && question.size > fewAnswers) used.set(question.id, new Set());
  if (used.size === 0) return;
  for (const client of engine.clients) {
    for (const [id, numbers] of used)
      if (id < client.answers.length) numbers.add(Math.abs(client.answers[id] as number));
  }
  for (const path of engine.paths) {
    for (let i = 0; i < path.steps.length; i += 2) used.get(path.steps[i] as number)?.add(path.steps[i + 1] as number);
  }
  for (const [id, numbers] of used) engine.questions.byId[id]?.keepOnly(numbers);
}
