import { describe, expect, it } from "vitest";
import { fuzz } from "../src/fuzz.js";
import { RandomInputs } from "../src/random-input.js";
import type { Target } from "../src/target.js";

const seeds = [Buffer.from("name: value"), Buffer.from([8, 150, 1])];

function target(run: Target["run"], more: Partial<Target> = {}): Target {
  return { name: "example", description: "an example", seeds, run, ...more };
}

describe("fuzz", () => {
  it("runs seeds, corpus and random inputs", async () => {
    const seen: string[] = [];
    const corpus = [Buffer.from("kept")];
    await fuzz(
      target((input) => void seen.push(Buffer.from(input).toString("latin1"))),
      { cases: 1000, seed: 1, corpus },
    );
    expect(seen).toHaveLength(1003);
    expect(seen.slice(0, 3)).toEqual(["name: value", "\b\u0096\u0001", "kept"]);
    expect(new Set(seen).size).toBeGreaterThan(700);
  });

  it("returns the input that made a target throw", async () => {
    const fault = await fuzz(
      target((input) => {
        if (input.includes(0xff)) throw new RangeError("255");
      }),
      { cases: 10_000, seed: 1 },
    );
    expect(fault?.target).toBe("example");
    expect([...(fault?.input ?? [])]).toContain(0xff);
    expect(fault?.error).toEqual(new RangeError("255"));
  });

  it("returns the input for which a promise was rejected", async () => {
    const fault = await fuzz(
      target((input) => (input.length > 12 ? Promise.reject(new Error("long")) : Promise.resolve())),
      { cases: 10_000, seed: 1 },
    );
    expect(fault?.input.length).toBeGreaterThan(12);
  });
});

describe("random inputs", () => {
  const some = (seed: number, more: Partial<Target> = {}): string[] => {
    const inputs = new RandomInputs(
      target(() => undefined, more),
      seed,
    );
    return Array.from({ length: 500 }, () => Buffer.from(inputs.next()).toString("latin1"));
  };

  it("are equal for equal seeds, and others for others", () => {
    expect(some(7)).toEqual(some(7));
    expect(some(7)).not.toEqual(some(8));
  });

  it("are at most as long as the target allows", () => {
    expect(Math.max(...some(1, { maxLength: 5 }).map(({ length }) => length))).toBe(5);
  });

  it("contain words of the dictionary", () => {
    const word = Buffer.from("<<keyword>>");
    expect(some(1, { dictionary: [word] }).filter((input) => input.includes("<<keyword>>")).length).toBeGreaterThan(20);
  });
});
