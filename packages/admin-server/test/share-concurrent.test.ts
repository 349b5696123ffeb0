import { shareConcurrent } from "@istiod/admin-server";
import { expect, it } from "vitest";

it("calls at the same time share one result, and later ones have a new one", async () => {
  let computed = 0;
  const next = shareConcurrent(() => Promise.resolve(++computed));
  expect(await Promise.all([next(), next(), next()])).toEqual([1, 1, 1]);
  expect(await next()).toBe(2);
});

it("a failure is shared, and is not kept", async () => {
  const results = [Promise.reject(new Error("no")), Promise.resolve("yes")];
  const next = shareConcurrent(() => results.shift() ?? Promise.resolve(""));
  await Promise.all([1, 2].map(() => expect(next()).rejects.toThrow("no")));
  expect(await next()).toBe("yes");
});
