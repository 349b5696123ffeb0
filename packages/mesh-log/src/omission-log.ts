import type { Faults } from "@istiod/explain";
import type { Logger } from "pino";

/** Log lines about one collection; of further parts only the number is logged. */
const linesLogged = 20;

/** Returns a function that logs parts of objects that proxies' listeners lack, and those that they no longer lack. */
export function omissionLog(log: Logger): (found: Faults, gone: Faults) => void {
  return (found, gone) => {
    for (const [part, { proxy, message }] of [...found].slice(0, linesLogged))
      log.warn({ part, proxy }, `left out of proxies' listeners: ${message ?? part}`);
    if (found.size > linesLogged)
      log.warn({ parts: found.size - linesLogged }, "more parts are left out, see /debug/push_status");
    for (const part of [...gone.keys()].slice(0, linesLogged)) log.info({ part }, "no longer left out of listeners");
  };
}
