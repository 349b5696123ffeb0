import type { Statistics } from "./api.js";
import type { Engine } from "./evaluation/engine.js";

/** Bytes of the objects of V8 on a 64-bit machine without pointer compression, as measured by `tools/bench`. */
const bytesPer = { memo: 185, edge: 18, path: 128, step: 8, question: 600, view: 300, answer: 4 };

export function statistics(engine: Engine): Statistics {
  let bytes = engine.memos * bytesPer.memo + engine.edges * bytesPer.edge + engine.questions.size * bytesPer.question;
  for (const path of engine.paths) bytes += bytesPer.path + path.steps.length * bytesPer.step;
  for (const client of engine.clients) bytes += bytesPer.view + client.answers.length * bytesPer.answer;
  return {
    revision: engine.revision,
    views: engine.clients.size,
    memos: engine.memos,
    edges: engine.edges,
    facts: engine.questions.size,
    bytes,
    recomputations: engine.recomputations,
    replacements: engine.replacements,
    drops: engine.drops,
    verifications: engine.verifications,
    hits: engine.hits,
    answers: engine.answers,
  };
}
