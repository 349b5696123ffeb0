import type { ConnectionLimits } from "./connection-table.js";

/** Files that a process needs whatever the number of its connections: listeners, watches, connections to others. */
const ownFiles = 128;
/** The least number of connections: with fewer files than they need, there is no room for anything. */
const fewest = 8;

/**
 * Returns limits that fit into the number of files that the process may open: three quarters of it less 128 for all
 * connections, of which half may be unauthenticated and a quarter of one address.
 */
export function fitConnections(limits: ConnectionLimits, maxOpenFiles: number | undefined): ConnectionLimits {
  if (maxOpenFiles === undefined) return limits;
  const room = Math.max(fewest, Math.floor(maxOpenFiles * 0.75) - ownFiles);
  if (limits.total <= room) return limits;
  return {
    total: room,
    unauthenticated: Math.min(limits.unauthenticated, Math.ceil(room / 2)),
    perAddress: Math.min(limits.perAddress, Math.ceil(room / 4)),
    perIdentity: Math.min(limits.perIdentity, room),
  };
}
