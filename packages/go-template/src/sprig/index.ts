import type { Functions } from "../functions.js";
import { dateFunctions, type DateOptions } from "./dates.js";
import { defaultFunctions, refusedFunctions } from "./defaults.js";
import { dictFunctions } from "./dicts.js";
import { encodingFunctions } from "./encodings.js";
import { jsonFunctions } from "./json.js";
import { listFunctions, sequenceFunctions } from "./lists.js";
import { mathFunctions } from "./math.js";
import { pathFunctions } from "./paths.js";
import { regexFunctions } from "./regexes.js";
import { semverFunctions } from "./semver-constraint.js";
import { stringFunctions } from "./strings.js";
import { urlFunctions } from "./urls.js";
import { wordFunctions } from "./words.js";

export type { DateOptions } from "./dates.js";

/** Returns the functions of sprig 3.3 (`TxtFuncMap`). Those that are random or need secrets fail with a reason. */
export const sprigFunctions = (options: DateOptions = {}): Functions => ({
  ...stringFunctions,
  ...wordFunctions,
  ...listFunctions,
  ...sequenceFunctions,
  ...dictFunctions,
  ...mathFunctions,
  ...defaultFunctions,
  ...jsonFunctions,
  ...encodingFunctions,
  ...pathFunctions,
  ...regexFunctions,
  ...semverFunctions,
  ...urlFunctions,
  ...dateFunctions(options),
  ...refusedFunctions,
});
