import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeClock } from "@istiod/runtime/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { Watches } from "../src/files/watches.js";

test("a directory that does not exist reports nothing until it does, and is watched then", async () => {
  const root = await mkdtemp(join(tmpdir(), "watches-"));
  const directory = join(root, "config");
  const clock = new FakeClock();
  const changes: (string | undefined)[] = [];
  const watches = new Watches(clock, (_, name) => changes.push(name));
  onTestFinished(async () => {
    watches.closeAll();
    await rm(root, { recursive: true });
  });
  watches.renew(directory);
  clock.advance(20_000);
  expect(changes).toEqual([]);
  expect([...watches.faults().keys()]).toEqual([directory]);

  await mkdir(directory);
  clock.advance(2_000);
  expect(changes).toEqual([undefined]);
  expect(watches.faults().size).toBe(0);

  await writeFile(join(directory, "mesh"), "{}");
  await vi.waitFor(() => expect(changes).toContain("mesh"));
  clock.advance(20_000);
  expect(changes.filter((name) => name === undefined)).toEqual([undefined]);
});
