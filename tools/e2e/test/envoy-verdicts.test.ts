import { celFault, formatStringFault, headerFormatFault, luaFault } from "@istiod/config-schema";
import { whyNoEnvoy } from "@istiod/e2e";
import { findEnvoy } from "@istiod/envoy-binary";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import {
  envoyVerdicts,
  header,
  jsonLog,
  logFilter,
  luaFilter,
  textLog,
  traceTag,
} from "./envoy-verdicts/envoy-verdicts.js";
import { expressions, knownExpressions } from "./envoy-verdicts/expressions.js";
import { composedFormats, headerForms, operatorForms } from "./envoy-verdicts/format-strings.js";
import { knownScripts, scriptsAtLimits } from "./envoy-verdicts/lua-scripts.js";
import { scripts, withoutEffect } from "./envoy-verdicts/random-lua.js";

const reason = await whyNoEnvoy();

/** Number of generated texts; long runs set the variable. */
const cases = Number(process.env["ENVOY_VERDICT_CASES"] ?? 1500);
const seed = Number(process.env["ENVOY_VERDICT_SEED"] ?? 1);

/** Long runs try every form of every operator, others each operator with a part of the forms. */
const stride = cases > 5000 ? 1 : 5;

interface Disagreement {
  readonly text: string;
  readonly here: string;
  readonly envoy: string;
}

function disagreements(
  texts: readonly string[],
  verdicts: readonly (string | undefined)[],
  fault: (text: string) => string | undefined,
): readonly Disagreement[] {
  return texts.flatMap((text, n) => {
    const here = fault(text);
    const envoy = verdicts[n];
    return (here === undefined) === (envoy === undefined)
      ? []
      : [{ text, here: here ?? "accepted", envoy: envoy?.slice(0, 200) ?? "accepted" }];
  });
}

function count(what: string, verdicts: readonly (string | undefined)[]): void {
  const rejected = verdicts.filter((verdict) => verdict !== undefined).length;
  console.log(`${what}: Envoy accepts ${verdicts.length - rejected} and rejects ${rejected}`);
}

describe("verdicts on texts that Envoy compiles", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));

  it("are Envoy's for operators with each argument and length", { timeout: 600_000 }, async () => {
    const forms = operatorForms.filter((_, n) => n % stride === 0);
    const verdicts = await envoyVerdicts((await findEnvoy())!, forms.map(textLog));
    count("operators", verdicts);
    expect(disagreements(forms, verdicts, (text) => formatStringFault(text))).toEqual([]);
  });

  it("are Envoy's for composed formats, in every place", { timeout: 600_000 }, async () => {
    const texts = fc.sample(composedFormats, { numRuns: cases, seed });
    for (const [place, manager] of Object.entries({ textLog, jsonLog, traceTag })) {
      const verdicts = await envoyVerdicts((await findEnvoy())!, texts.map(manager));
      count(place, verdicts);
      expect(disagreements(texts, verdicts, (text) => formatStringFault(text))).toEqual([]);
    }
  });

  it("are Envoy's for header values, which have earlier forms", { timeout: 600_000 }, async () => {
    const texts = [...headerForms, ...fc.sample(composedFormats, { numRuns: cases, seed })];
    const values = texts.filter((text) => !/[\0\r\n]/.test(text));
    const verdicts = await envoyVerdicts((await findEnvoy())!, values.map(header));
    count("header", verdicts);
    expect(disagreements(values, verdicts, headerFormatFault)).toEqual([]);
  });

  it("are Envoy's for expressions", { timeout: 600_000 }, async () => {
    const texts = [...knownExpressions, ...fc.sample(expressions, { numRuns: cases * 2, seed })];
    const verdicts = await envoyVerdicts((await findEnvoy())!, texts.map(logFilter));
    count("expressions", verdicts);
    expect(disagreements(texts, verdicts, celFault)).toEqual([]);
  });

  it("are Envoy's for Lua scripts", { timeout: 600_000 }, async () => {
    const random = fc.sample(scripts, { numRuns: cases * 2, seed });
    // Texts that are no text for Lua from their first character on cannot have anything before them.
    const texts = [...knownScripts, ...scriptsAtLimits, ...random].map((script) =>
      /^[#\uFEFF\x1b]/.test(script) ? script : withoutEffect(script),
    );
    const verdicts = await envoyVerdicts((await findEnvoy())!, texts.map(luaFilter));
    count("Lua", verdicts);
    expect(disagreements(texts, verdicts, luaFault)).toEqual([]);
  });
});
