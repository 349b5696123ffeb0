import { readFileSync, writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Pod } from "@istiod/injector";
import { afterAll, expect, it } from "vitest";

const here = fileURLToPath(new URL(".", import.meta.url));
const folder = mkdtempSync(join(here, ".readme-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("the example of the README takes over the probes of pods that are injected", async () => {
  const text = readFileSync(join(here, "../README.md"), "utf8");
  const example = /```ts\n([\s\S]*?)```/.exec(text)?.[1] ?? "";
  const file = join(folder, "example.ts");
  writeFileSync(file, example);
  const { prepare } = (await import(pathToFileURL(file).href)) as { prepare: (pod: Pod, namespace: string) => Pod };
  const pod: Pod = { spec: { containers: [{ name: "app", livenessProbe: { tcpSocket: { port: 80 } } }] } };
  expect(prepare(pod, "shop").spec?.containers?.[0]?.livenessProbe?.httpGet?.port).toBe(15020);
  expect(prepare(pod, "kube-system")).toBe(pod);
});
