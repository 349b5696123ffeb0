import { request } from "node:http";
import type { LookupFunction } from "node:net";
import { AgentError } from "../errors.js";

/** Address of Envoy's admin interface. */
export interface Admin {
  /** An IP address, or `localhost` for loopback of either family. */
  readonly address: string;
  readonly port: number;
}

/** A configuration dump of a large mesh has some hundred megabytes. */
const MAX_BODY_BYTES = 512 * 1024 * 1024;

/**
 * Sends a request to Envoy's admin interface.
 *
 * @param path path with query
 * @param timeout milliseconds
 * @returns the response body
 * @throws AgentError `envoy` if there is no response, or its status is not 200
 */
export function fetchAdmin(
  { address, port }: Admin,
  method: "GET" | "POST",
  path: string,
  timeout = 3000,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string, cause?: unknown): void =>
      reject(new AgentError("envoy", `Envoy admin ${address}:${port}${path}: ${reason}`, { cause }));
    const lookup = address === "localhost" ? loopbackOfAnyFamily : undefined;
    const call = request({ host: address, port, method, path, agent: false, ...(lookup && { lookup }) }, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > MAX_BODY_BYTES) call.destroy(new Error(`response larger than ${MAX_BODY_BYTES} bytes`));
        else chunks.push(chunk);
      });
      response.on("error", (error) => fail(error.message, error));
      response.on("end", () => {
        const body = Buffer.concat(chunks).toString("utf8");
        if (response.statusCode === 200) resolve(body);
        else fail(`HTTP status ${response.statusCode}`);
      });
    });
    const timer = setTimeout(() => call.destroy(new Error(`no response within ${timeout / 1000}s`)), timeout);
    call.on("error", (error) => fail(error.message, error));
    call.on("close", () => {
      clearTimeout(timer);
      fail("connection closed before the end of the response");
    });
    call.end();
  });
}

/** Resolves to both loopback addresses, which are tried in turn: a workload may have IPv6 addresses only. */
const loopbackOfAnyFamily: LookupFunction = (_, { all }, resolved) => {
  if (all === true)
    resolved(null, [
      { address: "127.0.0.1", family: 4 },
      { address: "::1", family: 6 },
    ]);
  else resolved(null, "127.0.0.1", 4);
};

/**
 * Reads counters and gauges.
 *
 * @param filter regular expression (RE2) on their names
 * @throws AgentError `envoy`
 */
export async function readStats(admin: Admin, filter: string): Promise<Map<string, number>> {
  const text = await fetchAdmin(admin, "GET", `/stats?usedonly&filter=${encodeURIComponent(filter)}`);
  const stats = new Map<string, number>();
  for (const line of text.split("\n")) {
    const at = line.lastIndexOf(": ");
    const value = Number(line.slice(at + 2));
    if (at > 0 && Number.isFinite(value)) stats.set(line.slice(0, at), value);
  }
  return stats;
}
