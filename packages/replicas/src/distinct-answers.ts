import type { Gathered } from "./gathered.js";

/** An answer, and the replicas that gave it. */
export interface DistinctAnswer<T> {
  readonly replicas: readonly string[];
  readonly answer: T;
}

/** Returns each different answer once. Replicas that have read the same objects answer alike. */
export function distinctAnswers<T>({ answers }: Pick<Gathered<T>, "answers">): readonly DistinctAnswer<T>[] {
  const distinct = new Map<string, DistinctAnswer<T>>();
  for (const { instance, answer } of answers) {
    const text = JSON.stringify(answer);
    const { replicas = [] } = distinct.get(text) ?? {};
    distinct.set(text, { replicas: [...replicas, instance.name], answer });
  }
  return [...distinct.values()];
}
