import { reasonOf } from "@istiod/runtime";
import { AgentError } from "../errors.js";

export interface WaitOptions {
  readonly url: string;
  /** Milliseconds in all, for a request, and between requests. */
  readonly timeout: number;
  readonly requestTimeout: number;
  readonly period: number;
}

/** Asks until the answer is 200. @throws AgentError `envoy` when the time is over */
export async function waitUntilReady({ url, timeout, requestTimeout, period }: WaitOptions): Promise<void> {
  const end = Date.now() + timeout;
  let last = "it was never asked";
  while (Date.now() < end) {
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(requestTimeout) });
      await response.arrayBuffer();
      if (response.status === 200) return;
      last = `HTTP status ${response.status}`;
    } catch (error) {
      last = error instanceof Error && error.cause ? reasonOf(error.cause) : reasonOf(error);
    }
    await new Promise((resolve) => setTimeout(resolve, period));
  }
  throw new AgentError("envoy", `the proxy did not become ready within ${timeout / 1000} s (${url}: ${last})`);
}
