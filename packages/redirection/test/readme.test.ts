import { readFile, rm, writeFile } from "node:fs/promises";
import { expect, test, vi } from "vitest";

test("the README's example prints what it says", async () => {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const example = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
  const file = new URL("./.readme-example.ts", import.meta.url);
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  await writeFile(file, example);
  try {
    await import(/* @vite-ignore */ file.href);
    expect(log).toHaveBeenCalledWith("-A ISTIO_INBOUND -p tcp --dport 8000 -j ISTIO_IN_REDIRECT");
  } finally {
    log.mockRestore();
    await rm(file);
  }
});
