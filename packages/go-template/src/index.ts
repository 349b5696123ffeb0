export { type Limits } from "./budget.js";
export { TemplateError, type TemplateErrorCode } from "./error.js";
export type { MissingKey } from "./execute/fields.js";
export { goFunction, type Functions, refusedFunction, variadicFunction } from "./functions.js";
export { sprint } from "./format/sprintf.js";
export type { Delimiters } from "./parse/lexer.js";
export { parseTemplate, Template, type TemplateOptions } from "./template.js";
export { goList, goMap, goValue } from "./values/go-value.js";
export {
  anyMapType,
  anySliceType,
  anyType,
  boolType,
  float64Type,
  integerTypes,
  mapOf,
  pointerTo,
  sliceOf,
  stringMapType,
  stringSliceType,
  stringType,
  structType,
} from "./values/known-types.js";
export type { GoType, IntegerKind, Kind } from "./values/types.js";
export {
  GoFunction,
  GoInteger,
  GoList,
  GoMap,
  GoPointer,
  GoStruct,
  type MapKey,
  type StructOptions,
  type Value,
} from "./values/values.js";
