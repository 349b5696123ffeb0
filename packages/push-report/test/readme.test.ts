import { readFile, rm, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";

test("the README's example runs", async () => {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const example = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
  const file = new URL("./.readme-example.ts", import.meta.url);
  await writeFile(file, `${example}\nexport { changes };`);
  try {
    expect(await import(/* @vite-ignore */ file.href)).toHaveProperty("changes");
  } finally {
    await rm(file);
  }
});
