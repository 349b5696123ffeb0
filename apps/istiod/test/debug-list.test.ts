import { readFileSync } from "node:fs";
import { sharedCommands } from "@istiod/replicas";
import { expect, test } from "vitest";
import { folder, serve } from "./serving.js";

const page = readFileSync(new URL("../../../docs/observability.md", import.meta.url), "utf8");
const [, section = ""] = /\n## \/debug\n([^]*?)\n## /.exec(page) ?? [];
const codeIn = (text: string): readonly string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
const rowOf = (first: string): string =>
  section.split("\n").find((line) => line.startsWith(`| ${first} |`)) ?? `no row ${first}`;

test("docs/observability.md names the debug endpoints of a running istiod, and those that replicas answer", async () => {
  const istiod = await serve({ configDir: await folder({}) }, { UNSAFE_ENABLE_ADMIN_ENDPOINTS: "true" });
  const answer = (await (await fetch(`${istiod.http}/debug/list`)).json()) as readonly string[];
  const nameOf = (code: string): string => code.replace(/^\/debug\/|\?.*$/g, "");
  const listed = [...new Set(answer.map(nameOf))];
  const documented = new Set(codeIn(section).map(nameOf));
  expect(listed.filter((name) => !documented.has(name))).toEqual([]);
  const tables = codeIn(rowOf("Istio's") + rowOf("istiod's own").replace(/, the answer to .*/, ""));
  expect(tables.filter((name) => !listed.includes(name))).toEqual([]);
  expect(sharedCommands.filter((name) => !listed.includes(name))).toEqual([]);
  const [command = "", shared = ""] = /`\?command=`, which is (.*?); other/.exec(rowOf("of all replicas")) ?? [];
  expect(command).not.toBe("");
  expect(codeIn(shared).toSorted()).toEqual(sharedCommands.toSorted());
});
