import {
  anyType,
  float64Type,
  type Functions,
  goFunction,
  GoMap,
  integerTypes,
  pointerTo,
  stringMapType,
  stringType,
  variadicFunction,
} from "@istiod/go-template";

const { int, int32, int64, uint8 } = integerTypes;

/** The functions that the Go program has in addition to sprig's. */
export const testFunctions: Functions = {
  fails: goFunction([stringType], stringType, (message) => {
    throw new Error(message);
  }),
  strdict: variadicFunction([], stringType, stringMapType, (words) => {
    const entries = new Map<string, string>();
    for (let i = 0; i + 1 < words.length; i += 2) entries.set(words[i] ?? "", words[i + 1] ?? "");
    return new GoMap(stringMapType, entries);
  }),
  lookup: goFunction([stringMapType, stringType], stringType, ({ entries }, key) => String(entries.get(key) ?? "")),
  podName: goFunction([pointerTo("main.Pod")], stringType, ({ target }) => {
    if (target === null) throw new Error("runtime error: invalid memory address or nil pointer dereference");
    return String(target.fields.get("Name"));
  }),
  int32: goFunction([int], int32, (value) => value),
  uint8: goFunction([int], uint8, (value) => value),
  takes64: goFunction([int64], int64, (value) => value),
  takesF: goFunction([float64Type], float64Type, (value) => value),
  anyOf: goFunction([anyType], anyType, (value) => value),
};
