import { answer } from "./answer.js";
import type { Evaluator } from "./engine.js";
import { fetch } from "./fetch.js";

export const evaluator: Evaluator = { fetch, answer };
