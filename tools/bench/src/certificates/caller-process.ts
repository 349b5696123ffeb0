import { fork } from "node:child_process";
import { once } from "node:events";
import type { CallerOrder, CallerReport } from "./messages.js";

/** As built, also where this file itself runs from source. */
const built = new URL("../../dist/certificates/caller.js", import.meta.url);

/** Callers of istiod in a process of their own. */
export interface CallerProcess {
  /** @throws Error if the process exits */
  do(order: CallerOrder): Promise<CallerReport>;
  stop(): Promise<void>;
}

export function startCaller(): CallerProcess {
  // Nodes are bytes.
  const child = fork(built, { execArgv: [], serialization: "advanced" });
  const exit = once(child, "exit");
  return {
    async do(order) {
      const answer = once(child, "message") as Promise<[CallerReport]>;
      child.send(order);
      const first = await Promise.race([answer, exit.then(([code]) => Number(code))]);
      if (typeof first === "number") throw new Error(`the process of callers exited with ${first}`);
      return first[0];
    },
    async stop() {
      if (child.connected) child.disconnect();
      await exit;
    },
  };
}
