import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createSelfSignedRoot } from "@istiod/ca";
import { caBundleErrors } from "@istiod/controllers";
import { MemoryMeter } from "@istiod/metrics/testing";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { openServingRoots } from "../src/serving-roots.js";
import { caBundle } from "../src/webhooks/ca-bundle.js";
import { folder } from "./serving.js";

const newRoot = async (): Promise<string> =>
  (await createSelfSignedRoot({ organization: "test" }, Date.now())).certificate;

test("the CA bundle of --caCertFile follows the file; a file without certificates is counted, and the last good one stays", async () => {
  const [first, second] = [await newRoot(), await newRoot()];
  const file = join(await folder({ "roots.pem": first }), "roots.pem");
  const servingRoots = await openServingRoots(file, pino({ level: "silent" }));
  onTestFinished(() => servingRoots.stop());
  const meter = new MemoryMeter();
  const bundle = caBundle({ authority: undefined, secure: undefined, servingRoots }, caBundleErrors(meter));
  let changes = 0;
  bundle?.onChange(() => changes++);

  expect(bundle?.current().trim()).toBe(first.trim());
  await writeFile(file, "no certificate");
  const errors = () => meter.value("galley_validation_config_load_error", { reason: "could not verify caBundle" });
  await expect.poll(errors).toBe(1);
  expect(bundle?.current().trim()).toBe(first.trim());
  expect(changes).toBe(0);
  await writeFile(file, second);
  await expect.poll(() => changes).toBe(1);
  expect(bundle?.current().trim()).toBe(second.trim());
  expect(errors()).toBe(1);
});
