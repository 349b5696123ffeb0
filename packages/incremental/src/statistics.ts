import type { Statistics } from "./api.js";
import type { Engine } from "./evaluation/engine.js";

/** Bytes of objects in V8 on a 64-bit machine without pointer compression, as measured by `tools/bench`. */
const bytesPer = { memo: 185, edge: 18, path: 128, step: 8, question: 600, view: 300, answer: 4 };

/** Returns the counts of an engine. */
export function statistics({ store, clients, counters, edges, revision }: Engine): Statistics {
  const { memos, paths, questions } = store;
  let bytes = memos * bytesPer.memo + edges * bytesPer.edge + questions.size * bytesPer.question;
  for (const path of paths) bytes += bytesPer.path + path.steps.length * bytesPer.step;
  for (const client of clients) bytes += bytesPer.view + client.answers.length * bytesPer.answer;
  const { recomputations, replacements, drops, verifications, hits, answers } = counters;
  return {
    revision,
    views: clients.size,
    memos,
    edges,
    facts: questions.size,
    bytes,
    recomputations,
    replacements,
    drops,
    verifications,
    hits,
    answers,
  };
}
