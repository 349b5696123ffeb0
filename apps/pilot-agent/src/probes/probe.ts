import { execFile } from "node:child_process";
import { connect } from "node:net";

/** Target of a probe. */
export interface ProbeTarget {
  readonly host: string;
  readonly port: number;
  /** Timeout in milliseconds. */
  readonly timeout: number;
  /** Source address, which the redirection rules exempt. */
  readonly localAddress?: string;
}

/** Opens a TCP connection and closes it. */
export function probeTcp({ host, port, timeout, localAddress }: ProbeTarget): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout, ...(localAddress ? { localAddress } : {}) });
    const fail = (error: Error): void => {
      socket.destroy();
      reject(error);
    };
    socket.once("connect", () => {
      socket.destroy();
      resolve();
    });
    socket.once("timeout", () => fail(new Error(`no connection within ${timeout / 1000}s`)));
    socket.once("error", fail);
  });
}

/** Runs a command. Rejects if its exit code is not 0. */
export function probeExec(command: readonly string[], timeout: number): Promise<void> {
  const [file = "", ...args] = command;
  return new Promise((resolve, reject) => {
    execFile(file, args, { timeout, killSignal: "SIGKILL" }, (error, _out, err) => {
      if (error) reject(new Error(`${file}: ${err.trim().split("\n").at(-1) || error.message}`));
      else resolve();
    });
  });
}
