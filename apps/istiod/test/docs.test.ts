import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const docs = new URL("../../../docs/", import.meta.url);
const read = (file: URL): string => readFileSync(file, "utf8");

test.each([
  ["adding-a-field.md", 5],
  ["adding-a-kind.md", 8],
])("quotes in docs/%s match the files that it names, and its links resolve", (page, count) => {
  const text = read(new URL(page, docs));
  const links = [...text.matchAll(/\]\((\.\.\/[^)#]+)\)/g)].map(([, path = ""]) => new URL(path, docs));
  expect(links.filter((file) => !existsSync(file))).toEqual([]);
  const quotations = [...text.matchAll(/\]\((\.\.\/[^)]+)\)[^[]*?\n```(?:proto|ts)\n([^]*?)```/g)];
  expect(quotations).toHaveLength(count);
  for (const [, path = "", quoted = ""] of quotations) expect(read(new URL(path, docs))).toContain(quoted);
});

test("each file in the README's list of what istioKinds decides reads that list", () => {
  const readme = new URL("../../../packages/config-schema/README.md", import.meta.url);
  const [, table = ""] = read(readme).split("\n### Kinds of Istio\n");
  const files = [...table.matchAll(/\]\(([^)#]+\.ts)\)/g)].map(([, path = ""]) => path);
  expect(files.length).toBeGreaterThan(0);
  expect(files.filter((path) => !read(new URL(path, readme)).includes("istioKinds"))).toEqual([]);
});

test("links between documents resolve", () => {
  for (const name of ["explain.md", "multicluster-files.md"]) {
    for (const [, path = ""] of read(new URL(name, docs)).matchAll(/\]\(([^)#:]+)\)/g))
      expect(existsSync(new URL(path, docs)), `${name}: ${path}`).toBe(true);
  }
});
