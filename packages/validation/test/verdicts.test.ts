import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseYaml, splitDocuments } from "@istiod/config-schema";
import { describe, expect, test } from "vitest";
import { answerTo, sharedFolder } from "./shared.js";

/** Test data of Istio's API: a document is valid unless it names, under `_err`, what the API server says against it. */
const suites = ["validation-crds", "istio-api-tests"].map((name) => ({ name, folder: sharedFolder("peer", name) }));

describe.each(suites)("verdicts of $name", ({ name, folder }) => {
  test("are the webhook's, also without the schemas of the custom resources", async ({ skip }) => {
    if (folder === undefined) return skip(`no ../shared/peer/${name} beside the repository`);
    const wrong: string[] = [];
    let total = 0;
    for (const file of readdirSync(folder)) {
      for (const document of splitDocuments(readFileSync(join(folder, file), "utf8"))) {
        const parsed = parseYaml(document);
        const { _err: expected, ...object } = ("value" in parsed ? (parsed.value ?? {}) : {}) as Record<
          string,
          unknown
        >;
        if (Object.keys(object).length === 0) continue;
        total++;
        const answer = await answerTo(object);
        if (answer.allowed !== (expected === undefined))
          wrong.push(
            `${file}:${document.line}: ${answer.allowed ? `allowed, expected ${String(expected)}` : answer.message}`,
          );
      }
    }
    console.log(`${total - wrong.length} of ${total} verdicts are equal`);
    expect(total).toBeGreaterThan(100);
    expect(wrong).toEqual([]);
  });
});
