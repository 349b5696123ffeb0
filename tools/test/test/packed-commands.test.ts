import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pack, root } from "../pack.mjs";

const run = promisify(execFile);
const commands = ["istiod", "pilot-agent"];
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "packed-"));
  const tarballs = await pack(
    commands.map((name) => `@istiod/${name}`),
    directory,
  );
  for (const name of commands) {
    await run("mkdir", [join(directory, name)]);
    await run("tar", [
      "-xzf",
      tarballs.get(`@istiod/${name}`) ?? "",
      "-C",
      join(directory, name),
      "--strip-components=1",
    ]);
  }
}, 120_000);
afterAll(() => rm(directory, { recursive: true, force: true }));

const execute = (name: string, ...args: string[]) =>
  run(process.execPath, [join(directory, name, "bin", `${name}.js`), ...args], { cwd: root });

test.each(commands)("the package of %s has its bundle, without the metadata of the bundler", async (name) => {
  expect(await readdir(join(directory, name, "bundle"))).toEqual(["main.js"]);
  expect((await execute(name, "--help")).stdout).toContain(`Usage: ${name}`);
});

test("the packed istiod validates files without other packages", async () => {
  const { stdout } = await execute("istiod", "validate", "-f", "samples/bookinfo/traffic.yaml");
  expect(stdout).toContain("samples/bookinfo/traffic.yaml");
});
