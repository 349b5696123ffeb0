import { SettingError } from "./setting.js";

/** The address of a server, and the setting that names it. */
export interface ListenTarget {
  /** The flag or variable that chooses the address, as a person writes it: `--httpAddr`. */
  readonly setting: string;
  /** `host:port`, as it was given or resolved. */
  readonly address: string;
  /** The process that has the port, if it is known: `pid 12 (envoy)`. */
  readonly owner?: string;
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "address already in use",
  EACCES: "permission denied",
  EADDRNOTAVAIL: "cannot assign requested address",
  ENOTFOUND: "no such host",
};

/**
 * Returns the error of a server that cannot listen, naming the setting and the address; anything but a listening error
 * is returned as it is.
 */
export function listenError({ setting, address, owner }: ListenTarget, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  const reason = reasons[code ?? ""];
  if (reason === undefined) return error;
  const other = code === "EADDRNOTAVAIL" || code === "ENOTFOUND" ? "address" : "port";
  return new SettingError(
    `${setting} ${address}: ${reason}${owner === undefined ? "" : ` by ${owner}`}; choose another ${other} with ${setting}`,
    { cause: error },
  );
}
