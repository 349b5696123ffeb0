import type { Server, Socket } from "node:net";
import { addressGroup } from "@istiod/peer-address";

/**
 * Limits the connections of a server. At the limit, a new connection closes the oldest connection of the address that
 * has the most, so that an address with many connections closes its own and the others are served. `limited` is called
 * for each connection that is closed.
 */
export function limitConnections(server: Server, max: number, limited: () => void): void {
  const byAddress = new Map<string, Set<Socket>>();
  let count = 0;
  server.on("connection", (socket: Socket) => {
    const address = addressGroup(socket.remoteAddress ?? "");
    const ofAddress = byAddress.get(address) ?? new Set();
    byAddress.set(address, ofAddress.add(socket));
    count++;
    socket.once("close", () => {
      count--;
      ofAddress.delete(socket);
      if (ofAddress.size === 0 && byAddress.get(address) === ofAddress) byAddress.delete(address);
    });
    if (count <= max) return;
    largest(byAddress.values())?.values().next().value?.destroy();
    limited();
  });
}

function largest(sets: Iterable<Set<Socket>>): Set<Socket> | undefined {
  let found: Set<Socket> | undefined;
  for (const set of sets) if (set.size > (found?.size ?? 0)) found = set;
  return found;
}
