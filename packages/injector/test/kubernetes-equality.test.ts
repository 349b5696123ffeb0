import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { applyStrategicMergePatch, decodePod, InjectorError, type JsonObject } from "@istiod/injector";
import fc from "fast-check";
import { encodeStruct } from "../src/go-types/encode.js";
import { canonicalQuantity } from "../src/go-types/quantity.js";
import { type FieldType, structNames, structOf } from "../src/go-types/types.js";
import { arbitraryPatch, arbitraryPod } from "./arbitrary-pods.js";
import { compileOracle, Oracle } from "./kubernetes-oracle.js";

let oracle: Oracle | undefined;
let reason = "";

beforeAll(async () => {
  const compiled = await compileOracle();
  if ("path" in compiled) oracle = new Oracle(compiled.path);
  else reason = compiled.reason;
}, 300_000);
afterAll(() => oracle?.close());

/** Returns the Go program, or skips the test with the reason. */
function oracleOr(skip: (condition: boolean, reason: string) => void): Oracle {
  skip(oracle === undefined, reason);
  return oracle as Oracle;
}

const runs = { numRuns: Number(process.env["INJECTOR_CASES"] ?? 400) };

describe("equality with Kubernetes' libraries", () => {
  it("merges patches as they do", { timeout: 120_000 }, async ({ skip }) => {
    const go = oracleOr(skip);
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(arbitraryPod, arbitraryPatch, async (original, patch) => {
        const { result, error } = await go.ask({ original, patch });
        const own = attempt(() => applyStrategicMergePatch("Pod", original as never, patch as JsonObject));
        if (error !== "") expect(own).toBe("refused");
        else {
          accepted++;
          expect(JSON.parse(JSON.stringify(own))).toEqual(result);
        }
      }),
      runs,
    );
    expect(accepted).toBeGreaterThan(runs.numRuns / 4);
  });

  it("encodes pods as they do", { timeout: 120_000 }, async ({ skip }) => {
    const go = oracleOr(skip);
    await fc.assert(
      fc.asyncProperty(arbitraryPod, async (pod) => {
        const { result } = await go.ask({ pod });
        const text = encodeStruct("Pod", decodePod(pod));
        // Go writes the status of a pod, although it is empty.
        expect(text.replace(/}$/, ',"status":{}}')).toBe(result);
      }),
      runs,
    );
  });

  it("reads quantities as they do", { timeout: 120_000 }, async ({ skip }) => {
    const go = oracleOr(skip);
    const digits = fc.oneof(
      fc.nat(3000).map(String),
      fc.constantFrom("0", "", "1024", "1048576", "9223372036854775807"),
    );
    // The library loses the suffix of quantities of 1000E and more.
    const suffix = fc.constantFrom(
      "",
      "n",
      "u",
      "m",
      "k",
      "M",
      "G",
      "T",
      "P",
      "Ki",
      "Mi",
      "Gi",
      "e3",
      "E2",
      "e-3",
      "x",
    );
    const quantity = fc
      .tuple(fc.constantFrom("", "-", "+"), digits, fc.constantFrom("", "."), digits, suffix)
      .map((parts) => parts.join(""));
    await fc.assert(
      fc.asyncProperty(quantity, async (text) => {
        const { result, error } = await go.ask({ quantity: text });
        expect(canonicalQuantity(text) ?? "refused").toBe(error === "" ? result : "refused");
      }),
      runs,
    );
  });

  it("knows the fields of their types", async ({ skip }) => {
    const { result } = await oracleOr(skip).ask({ types: true });
    const types = result as Readonly<Record<string, readonly string[]>>;
    for (const name of structNames()) {
      const own = structOf(name).fields.map(describeField);
      const theirs = types[name];
      if (theirs === undefined) {
        // An embedded struct, whose fields are those of the others.
        expect(embedded).toContain(name);
        continue;
      }
      const typed = (line: string, i: number): readonly string[] => {
        const [goName, jsonName, type, ...rest] = line.split(" ");
        return own[i]?.isUntyped
          ? [goName ?? "", jsonName ?? "", "any"]
          : [goName ?? "", jsonName ?? "", type ?? "", ...rest];
      };
      expect(own.map(({ words }) => words)).toEqual(theirs.map(typed));
    }
  });
});

/** Structs that only are parts of others. */
const embedded = [...["TypeMeta", "VolumeSource", "ProbeHandler", "EphemeralContainerCommon", "LocalObjectReference"]];

function describeField({
  goName,
  jsonName,
  type,
  omitsEmpty,
  strategy,
  mergeKey,
}: ReturnType<typeof structOf>["fields"][number]): { readonly words: readonly string[]; readonly isUntyped: boolean } {
  const isUntyped = typeText(type).includes("any");
  const words = isUntyped ? ["any"] : [typeText(type), String(omitsEmpty), strategy, mergeKey ?? ""];
  return { words: [goName, jsonName, ...words], isUntyped };
}

function typeText(type: FieldType): string {
  switch (type.kind) {
    case "scalar":
    case "struct":
      return type.name;
    case "pointer":
      return `*${typeText(type.element)}`;
    case "list":
      return `[]${typeText(type.element)}`;
    case "map":
      return `map[string]${typeText(type.element)}`;
  }
}

function attempt(run: () => unknown): unknown {
  try {
    return run();
  } catch (cause) {
    if (cause instanceof InjectorError) return "refused";
    throw cause;
  }
}
