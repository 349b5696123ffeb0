import type { IncomingMessage } from "node:http";
import { isLoopback } from "@istiod/peer-address";

/** Reports whether a request comes from a loopback address. */
export function isLocal({ socket }: IncomingMessage): boolean {
  return isLoopback(socket.remoteAddress);
}

/**
 * Returns the target of a request; `undefined` unless it is a path in its normal form. Envoy's health port forwards
 * paths with the prefix `/healthz/ready` to the agent, which must not be left by dot segments.
 */
export function requestTarget(url: string | undefined): { readonly path: string; readonly search: string } | undefined {
  if (!url?.startsWith("/") || url.startsWith("//") || !URL.canParse(url, "http://agent")) return undefined;
  const { pathname, search, host } = new URL(url, "http://agent");
  return host === "agent" && url === `${pathname}${search}` ? { path: pathname, search } : undefined;
}
