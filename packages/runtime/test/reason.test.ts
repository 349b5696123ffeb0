import { reasonOf } from "@istiod/runtime";
import { expect, it } from "vitest";

it.each([
  [new TypeError("is not iterable"), "is not iterable"],
  ["plain text", "plain text"],
  [{ code: 3 }, "[object Object]"],
  [undefined, "undefined"],
])("returns the message of %o", (thrown, reason) => {
  expect(reasonOf(thrown)).toBe(reason);
});
