import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createSelfSignedRoot } from "@istiod/ca";
import { caBundleErrors } from "@istiod/controllers";
import { MemoryMeter } from "@istiod/metrics/testing";
import { pino } from "pino";
import { expect, test, vi } from "vitest";
import type { Security } from "../src/phases/security.js";
import { caBundle } from "../src/webhooks/ca-bundle.js";
import { flagValues, folder } from "./serving.js";

const newRoot = async (): Promise<string> =>
  (await createSelfSignedRoot({ organization: "test" }, Date.now())).certificate;

test("the CA bundle of --caCertFile follows the file; a file without certificates is counted, and the last good one stays", async () => {
  const [first, second] = [await newRoot(), await newRoot()];
  const root = await folder({ "roots.pem": first });
  const file = join(root, "roots.pem");
  const listeners: (() => void)[] = [];
  const security = {
    authority: {},
    secure: { onChange: (listener: () => void) => void listeners.push(listener) },
  } as unknown as Security;
  const meter = new MemoryMeter();
  const flags = flagValues({ tlsCertFile: "served.pem", caCertFile: file });
  const bundle = await caBundle(flags, security, pino({ level: "silent" }), caBundleErrors(meter));
  let changes = 0;
  bundle?.onChange(() => changes++);
  const change = async (text: string): Promise<void> => {
    await writeFile(file, text);
    for (const listener of listeners) listener();
  };

  expect(bundle?.current().trim()).toBe(first.trim());
  await change("no certificate");
  const errors = () => meter.value("galley_validation_config_load_error", { reason: "could not verify caBundle" });
  await vi.waitFor(() => expect(errors()).toBe(1), 10_000);
  expect(bundle?.current().trim()).toBe(first.trim());
  expect(changes).toBe(0);
  await change(second);
  await vi.waitFor(() => expect(changes).toBe(1), 10_000);
  expect(bundle?.current().trim()).toBe(second.trim());
  expect(errors()).toBe(1);
});
