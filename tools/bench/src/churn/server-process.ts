import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Address } from "@istiod/xds-server/testing";
import type { ServerReport } from "./server.js";

/** An istiod in a process of its own, so that its memory and CPU are its own. */
export interface ServerProcess {
  readonly address: Address;
  report(collect?: "collect"): Promise<ServerReport>;
  stop(): void;
}

/** Starts an istiod over a directory; resolves when it serves. */
export async function startServer(directory: string): Promise<ServerProcess> {
  const child = fork(fileURLToPath(import.meta.resolve("../churn.js")), ["--serve", directory], { stdio: "inherit" });
  const address = (await answer(child)) as Address;
  let last: Promise<unknown> = Promise.resolve();
  return {
    address,
    report(collect) {
      const next = last.then(() => {
        child.send(collect ?? "report");
        return answer(child) as Promise<ServerReport>;
      });
      last = next;
      return next;
    },
    stop: () => child.disconnect(),
  };
}

function answer(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const exited = (code: number | null): void => reject(new Error(`istiod ended with ${code}`));
    child.once("exit", exited);
    child.once("message", (message) => {
      child.off("exit", exited);
      resolve(message);
    });
  });
}
