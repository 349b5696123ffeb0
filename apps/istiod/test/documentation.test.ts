import { readFile } from "node:fs/promises";
import { aboutFlag, flags } from "@istiod/istiod";
import { expect, it } from "vitest";

const page = async (name: string): Promise<string> => readFile(new URL(`../../../docs/${name}`, import.meta.url), "utf8");

it("docs/istiod.md has the table of flags", async () => {
  const shown = (flag: (typeof flags)[number]): string => {
    const byDefault = typeof flag.default === "function" ? flag.default({}) : [flag.default].flat().join(",");
    return `| \`--${flag.name} ${flag.value}\` | ${aboutFlag(flag)} | ${byDefault === "" ? "" : `\`${byDefault}\``} |`;
  };
  const table = ["| flag | is | default |", "|---|---|---|", ...flags.map(shown)].join("\n");
  const found = /^\| flag \| is \| default \|\n(?:\|.*\n)+/m.exec(await page("istiod.md"))?.[0].trimEnd();
  expect(found).toBe(table);
});
