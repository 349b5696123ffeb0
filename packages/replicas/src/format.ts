import type { ConnectedProxy, JoinedConnections } from "./connected-proxies.js";
import type { Gathered, SilentReplica } from "./gathered.js";

/** Exit status of commands if a replica does not answer, and the output is of the others. */
export const incompleteExit = 5;

/** Returns a line for each replica that does not answer. */
export function formatSilent(silent: readonly SilentReplica[]): string {
  return silent.map(({ name, reason }) => `${name} does not answer: ${reason}\n`).join("");
}

export interface ReplicaTableOptions {
  /** Adds a row for each proxy. Default: false. */
  readonly proxies?: boolean;
  /** Milliseconds since the epoch. Default: now. */
  readonly now?: number;
}

/** Builds the table of all replicas with the number of their proxies, and with the proxies. */
export function replicaTable(
  gathered: Gathered<readonly ConnectedProxy[]>,
  { latest }: JoinedConnections<ConnectedProxy>,
  { proxies = false, now = Date.now() }: ReplicaTableOptions = {},
): readonly (readonly string[])[] {
  const rows = gathered.answers.flatMap(({ instance: { id, name, version, revision, startedAt } }) => {
    const own = latest.filter(({ replica }) => replica === id);
    const row = [name, version, revision, age(now - startedAt), String(own.length), "OK"];
    const ofProxies = own.map(({ proxy }) => [
      `  ${proxy.name}`,
      proxy.version,
      proxy.kind,
      age(now - proxy.connectedAt),
      "",
      "",
    ]);
    return proxies ? [row, ...ofProxies] : [row];
  });
  const missing = [
    ...gathered.silent,
    ...gathered.failures.map(({ instance, error }) => ({ name: instance.name, reason: error })),
  ].map(({ name, reason }) => [name, "", "", "", "", `NO ANSWER: ${reason}`]);
  return [["NAME", "VERSION", "REVISION", "AGE", "PROXIES", "STATE"], ...rows, ...missing];
}

/** Formats a duration as `kubectl` does ages, by its largest unit. */
function age(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const [minutes, hours, days] = [Math.floor(seconds / 60), Math.floor(seconds / 3600), Math.floor(seconds / 86_400)];
  if (days > 0) return `${days}d`;
  if (hours > 0) return `${hours}h`;
  return minutes > 0 ? `${minutes}m` : `${seconds}s`;
}
