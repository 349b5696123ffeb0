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
    expect(log.mock.calls).toEqual([
      ["cart.shop.svc.cluster.local", "HTTP"],
      [["10.1.0.7:8080 Healthy"]],
      [["10.1.0.7:8080 Unhealthy"]],
      [true],
    ]);
  } finally {
    log.mockRestore();
    await rm(file);
  }
});
