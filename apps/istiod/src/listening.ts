import { listenError } from "@istiod/settings";
import type { ListenAddress } from "./listen-address.js";

/** Returns the options of a listener. Default host: all addresses. */
export function listenOptions({ host, port }: ListenAddress): { host: string; port: number } {
  return { host: host ?? "::", port };
}

/** Waits until a server listens. @throws SettingError that names the flag, the address and the port */
export async function listening<T>(flag: string, address: string, server: Promise<T>): Promise<T> {
  try {
    return await server;
  } catch (error) {
    throw listenError({ setting: `--${flag}`, address }, error);
  }
}
