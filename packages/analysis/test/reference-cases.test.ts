import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { analyzers, analyzeTexts, type TextFile } from "@istiod/analysis";

interface Expected {
  readonly code: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

interface Case {
  readonly id: string;
  readonly files: readonly string[];
  readonly meshConfig?: string;
  readonly meshNetworks?: string;
  readonly codes: readonly string[];
  readonly expected: readonly Expected[];
  /** Of an analyzer that does not run unless it is asked for. */
  readonly unregistered?: boolean;
}

const folder = fileURLToPath(new URL("../../../../shared/peer/analyzers/", import.meta.url));
const cases = existsSync(folder) ? (JSON.parse(readFileSync(`${folder}cases.json`, "utf8")) as Case[]) : [];
const input = (file: string): TextFile => ({ file, text: readFileSync(`${folder}input/${file}`, "utf8") });
const shown = ({ code, kind, namespace, name }: Expected): string =>
  `${code} ${kind} ${namespace ? `${namespace}/` : ""}${name}`;
const distinct = (values: readonly string[]): readonly string[] => [...new Set(values)].sort();

describe("Istio's own test cases", () => {
  it("are found", ({ skip }) => {
    skip(!existsSync(folder), "no ../shared/peer/analyzers beside the repository");
    expect(cases).not.toEqual([]);
  });

  it.each(cases.map((c) => [c.id, c] as const))(
    "%s",
    (_, { files, meshConfig, meshNetworks, codes, expected, unregistered }) => {
      const requested = analyzers
        .filter((a) => a.onRequest && a.codes.some((code) => codes.includes(code)))
        .map(({ name }) => name);
      const { messages } = analyzeTexts({
        files: files.map(input),
        ...(meshConfig && { meshConfig: input(meshConfig) }),
        ...(meshNetworks && { meshNetworks: input(meshNetworks) }),
        ...(unregistered && { analyzers: requested }),
      });
      const found = messages.filter(({ code }) => codes.includes(code)).map(({ code, origin }) => `${code} ${origin}`);
      expect(distinct(found)).toEqual(distinct(expected.map(shown)));
    },
  );
});
