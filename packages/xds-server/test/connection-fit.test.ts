import fc from "fast-check";
import { expect, test } from "vitest";
import { fitConnections } from "../src/index.js";

const limits = { total: 20_000, unauthenticated: 10_000, perAddress: 5000, perIdentity: 10_000 };

test.each([
  [undefined, limits],
  [1_048_576, limits],
  [26_838, limits],
  [20_000, { total: 14_872, unauthenticated: 7436, perAddress: 3718, perIdentity: 10_000 }],
  [1024, { total: 640, unauthenticated: 320, perAddress: 160, perIdentity: 640 }],
  [64, { total: 8, unauthenticated: 4, perAddress: 2, perIdentity: 8 }],
])("with %j open files, the limits of connections are %j", (files, expected) => {
  expect(fitConnections(limits, files)).toEqual(expected);
});

test("limits that fit stay, and others leave files to the process", () => {
  fc.assert(
    fc.property(fc.integer({ min: 256, max: 100_000 }), fc.integer({ min: 1, max: 100_000 }), (files, total) => {
      const fitted = fitConnections({ ...limits, total }, files);
      expect(fitted.total).toBe(Math.min(total, Math.max(8, Math.floor(files * 0.75) - 128)));
      expect(files - fitted.total).toBeGreaterThanOrEqual(128);
    }),
  );
});
