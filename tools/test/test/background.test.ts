import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const absent = process.platform === "linux" ? undefined : "CI runs on Linux";
const root = join(import.meta.dirname, "../../..");

interface Result {
  readonly status: number;
  readonly output: string;
}

/** Runs a script of bash with the functions of `.ci/background.sh`. */
async function bash(script: string, ...args: readonly string[]): Promise<Result> {
  const command = ["-euc", `source .ci/background.sh\n${script}`, "bash", ...args];
  return promisify(execFile)("bash", command, { cwd: root }).then(
    ({ stdout }) => ({ status: 0, output: stdout }),
    ({ code, stdout }: { readonly code: number; readonly stdout: string }) => ({ status: code, output: stdout }),
  );
}

async function expectEnded(pid: number): Promise<void> {
  await expect
    .poll(async () => {
      const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
      return stat === "" || stat.includes(") Z ");
    })
    .toBe(true);
}

test("a command runs beside others, at the lowest priority, and its output is printed when it is awaited", async (context) => {
  context.skip(absent !== undefined, absent);
  expect(await bash("start_in_background 5m nice; echo other; await_background; echo awaited")).toEqual({
    status: 0,
    output: "other\n19\nawaited\n",
  });
});

test("the whole output of a command that fails is printed, and the script may continue", async (context) => {
  context.skip(absent !== undefined, absent);
  const failing = "start_in_background 5m sh -c 'echo first; echo last >&2; exit 3'";
  expect(await bash(`${failing}; await_background || echo "failed by $?"`)).toEqual({
    status: 0,
    output: "first\nlast\nfailed by 3\n",
  });
  expect(await bash(`${failing}; await_background; echo "not reached"`)).toEqual({
    status: 3,
    output: "first\nlast\n",
  });
});

test("after the limit, a command is killed with the processes that it started", async (context) => {
  context.skip(absent !== undefined, absent);
  const { status, output } = await bash(
    `start_in_background 5s sh -c 'sleep 600 & echo $!; wait'; await_background || echo "continued"`,
  );
  expect({ status, lines: output.split("\n").slice(1) }).toEqual({
    status: 0,
    lines: ["killed after 5s", "continued", ""],
  });
  await expectEnded(Number.parseInt(output));
});

test("a script that ends does not leave the command running", async (context) => {
  context.skip(absent !== undefined, absent);
  const directory = await mkdtemp(join(tmpdir(), "background-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = join(directory, "pid");
  const { status } = await bash(
    `start_in_background 5m sh -c 'sleep 600 & echo $! >"$1"; wait' sh "$1"; until [ -s "$1" ]; do sleep 0.05; done; exit 4`,
    file,
  );
  expect(status).toBe(4);
  await expectEnded(Number(await readFile(file, "utf8")));
});
