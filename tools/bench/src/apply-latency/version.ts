import { type Agent, get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const INTERVAL_MS = 1;

/**
 * Asks a gateway once a millisecond until it serves a version or a later one. Returns the time then, by
 * `performance.now`.
 *
 * @throws Error if it does not within a time
 */
export async function untilVersion(port: number, version: number, agent: Agent, timeoutMs: number): Promise<number> {
  for (const until = performance.now() + timeoutMs; ; await sleep(INTERVAL_MS)) {
    const served = await servedVersion(port, agent).catch(() => undefined);
    const now = performance.now();
    if (served !== undefined && served >= version) return now;
    if (now > until) throw new Error(`the gateway at port ${port} does not serve version ${version}: ${served}`);
  }
}

/** Returns the version that a redirect names; undefined if the answer is another one. */
function servedVersion(port: number, agent: Agent): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get({ host: "127.0.0.1", port, agent, headers: { host: "measured.example" } }, (response) => {
      response.resume();
      response.once("end", () => {
        const found = /^http:\/\/v(\d+)\.example/.exec(response.headers.location ?? "");
        resolve(found === null ? undefined : Number(found[1]));
      });
      response.once("error", reject);
    }).once("error", reject);
  });
}
