import { chmod, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { buildServer } from "@istiod/cluster";
import { expect, onTestFinished, test } from "vitest";

test("a build that fails reports the last line of its output, and has all of it", async () => {
  const directory = await mkdtemp(join(tmpdir(), "build-server-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const go = join(directory, "go");
  await writeFile(
    go,
    `#!/bin/sh\n[ "$1" = version ] && exit\necho "# example/module"\necho "undefined: Served" >&2\nexit 1\n`,
  );
  await chmod(go, 0o755);
  const env = { ...process.env, PATH: `${directory}${delimiter}${process.env["PATH"] ?? ""}` };
  const cache = join(directory, "cache");
  await expect(buildServer({ cache, env })).rejects.toMatchObject({
    message: "go mod failed: undefined: Served",
    output: expect.stringContaining("# example/module\n") as string,
  });
  expect(await readdir(cache)).toEqual([]);
});
