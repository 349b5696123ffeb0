import { type ChildProcess, spawn } from "node:child_process";

const TERMINAL = `
import os, pty, select, sys
pid, master = pty.fork()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
print(pid, flush=True)
while True:
    readable = select.select([master, 0], [], [])[0]
    if 0 in readable: break
    try: os.read(master, 65536)
    except OSError: break
os.close(master)
os.waitpid(pid, 0)
`;

/** A process in its own terminal. Writing a line to the standard input of `terminal` closes the terminal. */
export interface TerminalProcess {
  readonly terminal: ChildProcess;
  readonly pid: number;
}

/** Starts a command in a new terminal. Needs Python 3. */
export async function startInTerminal(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<TerminalProcess> {
  const terminal = spawn("python3", ["-c", TERMINAL, ...command], {
    env: { ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const pid = await new Promise<number>((resolve, reject) => {
    terminal.stdout.setEncoding("utf8").once("data", (text: string) => resolve(Number(text)));
    terminal.once("error", reject);
    terminal.once("exit", () => reject(new Error("the terminal process exited")));
  });
  return { terminal, pid };
}
