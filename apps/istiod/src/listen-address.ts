import { invalidSetting } from "@istiod/settings";

/** A host and port to listen on. */
export interface ListenAddress {
  readonly host: string | undefined;
  readonly port: number;
}

/**
 * Parses `host:port`, `:port` or `[v6]:port`. Returns undefined for an empty address.
 *
 * @throws SettingError naming the flag
 */
export function listenAddress(flag: string, value: string): ListenAddress | undefined {
  if (value === "") return undefined;
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(value);
  const port = Number(match?.[3]);
  if (!match || port > 65535) throw invalidSetting(`--${flag}`, value, "host:port, :port or [v6]:port");
  return { host: match[1] ?? (match[2] || undefined), port };
}
