import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const docs = new URL("../../../docs/", import.meta.url);
const read = (file: URL): string => readFileSync(file, "utf8");

test("quotes in docs/adding-a-field.md match the files that it names, and its links resolve", () => {
  const text = read(new URL("adding-a-field.md", docs));
  const links = [...text.matchAll(/\]\((\.\.\/[^)#]+)\)/g)].map(([, path = ""]) => new URL(path, docs));
  expect(links.filter((file) => !existsSync(file))).toEqual([]);
  const quotations = [...text.matchAll(/\]\((\.\.\/[^)]+)\)[^[]*?\n```(?:proto|ts)\n([^]*?)```/g)];
  expect(quotations).toHaveLength(4);
  for (const [, path = "", quoted = ""] of quotations) expect(read(new URL(path, docs))).toContain(quoted);
});

test("links between documents resolve", () => {
  for (const name of ["explain.md", "multicluster-files.md"]) {
    for (const [, path = ""] of read(new URL(name, docs)).matchAll(/\]\(([^)#:]+)\)/g))
      expect(existsSync(new URL(path, docs)), `${name}: ${path}`).toBe(true);
  }
});
