import type { Socket } from "node:net";

/** Identifies an open connection by its addresses. A TLS socket has those of the socket below it. */
export function connectionId({
  remoteAddress,
  remotePort,
  localAddress,
}: Pick<Socket, "remoteAddress" | "remotePort" | "localAddress">): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}
