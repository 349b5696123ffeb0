import { readFileSync } from "node:fs";
import { relative } from "node:path";
import {
  applyMeshConfig,
  decode,
  formatPath,
  formatProblem,
  readMeshNetworks,
  readText,
  type Report,
} from "@istiod/config-schema";
import { describe, expect, test } from "vitest";
import { parseYaml, splitDocuments } from "../src/yaml/yaml.js";
import { filesBelow, sharedFolder } from "./shared.js";

/** Test data of Istio's API: a document is valid unless it names, under `_err`, what the API server says against it. */
const suites = ["validation-crds", "istio-api-tests"].map((name) => ({ name, folder: sharedFolder("peer", name) }));

describe.each(suites)("verdicts of $name", ({ name, folder }) => {
  test("are ours", ({ skip }) => {
    if (folder === undefined) return skip(`no ../shared/peer/${name} beside the repository`);
    const wrong: string[] = [];
    let total = 0;
    for (const file of filesBelow(folder, ".yaml")) {
      for (const document of splitDocuments(readFileSync(file, "utf8"))) {
        const parsed = parseYaml(document);
        const body = "value" in parsed ? (parsed.value as Record<string, unknown> | null) : null;
        if (body === null) continue;
        const { _err: expected, ...object } = body;
        if (Object.keys(object).length === 0) continue;
        total++;
        const outcomes = decode(object);
        const errors = outcomes
          .flatMap((o) => (o.outcome === "ignored" ? [] : o.issues))
          .filter((i) => i.severity === "error");
        const rejected = outcomes.some((o) => o.outcome === "rejected");
        if (outcomes.some((o) => o.outcome === "ignored"))
          wrong.push(`${relative(folder, file)}: ${JSON.stringify(object).slice(0, 200)}: ignored`);
        else if (rejected !== (expected !== undefined))
          wrong.push(
            `${relative(folder, file)}: ${JSON.stringify(object).slice(0, 400)}\n   expected ${String(expected ?? "valid")}, found ${errors.map((e) => `${e.path.join(".")} ${e.message}`).join("; ")}`,
          );
      }
    }
    console.log(
      `${total - wrong.length} of ${total} verdicts are equal (${((100 * (total - wrong.length)) / total).toFixed(1)} %)`,
    );
    expect(wrong).toEqual([]);
  });
});

describe.each(["scenarios", "cases"].map((name) => ({ name, folder: sharedFolder(name) })))(
  "objects of $name",
  ({ name, folder }) => {
    test("are accepted", ({ skip }) => {
      if (folder === undefined) return skip(`no ../shared/${name} beside the repository`);
      const rejected: string[] = [];
      let objects = 0;
      const files = filesBelow(folder, ".yaml").filter((f) => !/\/(?:mesh|networks)\.yaml$/.test(f));
      for (const file of files) {
        for (const reading of readText(readFileSync(file, "utf8"), relative(folder, file))) {
          objects += reading.objects.length;
          rejected.push(...reading.problems.filter((p) => p.severity === "error").map(formatProblem));
        }
      }
      console.log(`${objects} objects of ${files.length} files were read`);
      expect(rejected).toEqual([]);
    });
  },
);

describe.each(["scenarios", "cases"].map((name) => ({ name, folder: sharedFolder(name) })))(
  "mesh configuration of $name",
  ({ name, folder }) => {
    test("is accepted, with no warning but of what has no effect", ({ skip }) => {
      if (folder === undefined) return skip(`no ../shared/${name} beside the repository`);
      const found: string[] = [];
      for (const file of filesBelow(folder, "/mesh.yaml", "/networks.yaml")) {
        const parsed = parseYaml({ text: readFileSync(file, "utf8"), line: 1 });
        const note: Report["error"] = (path, message) =>
          void found.push(`${relative(folder, file)}: ${formatPath(path)}: ${message}`);
        const warning: Report["error"] = (path, message) =>
          message.startsWith("has no effect") ? undefined : note(path, message);
        const report = { error: note, warning };
        const value =
          "message" in parsed
            ? note([], parsed.message)
            : (file.endsWith("mesh.yaml") ? applyMeshConfig : readMeshNetworks)(parsed.value, report);
        if (value === undefined) found.push(`${file}: rejected`);
      }
      expect(found).toEqual([]);
    });
  },
);
