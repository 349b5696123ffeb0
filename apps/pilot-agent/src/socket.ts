import { mkdir, rm } from "node:fs/promises";
import { connect, type Server } from "node:net";
import { dirname, relative } from "node:path";
import { listenError, SettingError } from "@istiod/settings";
import { AgentError } from "./errors.js";
import { findPortOwner, formatPortOwner } from "./processes/port-owner.js";

/** Maximum length of a Unix socket's path in bytes, without the terminating zero (unix(7)). */
const MAX_PATH_BYTES = 107;

/**
 * Listens on a Unix socket, whose directory is created if absent. A stale socket is replaced.
 *
 * @throws AgentError `address`
 */
export async function listenOnSocket(server: Server, path: string): Promise<void> {
  const listenPath = shortPath(path);
  if (await acceptsConnections(path)) throw new AgentError("address", `socket ${path} is served by another process`);
  try {
    await mkdir(dirname(path), { recursive: true });
    await rm(path, { force: true });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(listenPath, () => {
        server.off("error", reject);
        resolve();
      });
    });
  } catch (error) {
    throw AgentError.from(error, "address", `socket ${path} cannot be listened on`);
  }
}

/**
 * Listens on a TCP port.
 *
 * @param address default: all addresses
 * @param setting the option that chooses the port, for errors
 * @throws AgentError `address` that names the setting, the address and the port
 */
export async function listenOnPort(
  server: Server,
  port: number,
  address: string | undefined,
  setting: string,
): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, address, () => {
        server.off("error", reject);
        resolve();
      });
    });
  } catch (error) {
    const owner =
      (error as NodeJS.ErrnoException).code === "EADDRINUSE" ? await findPortOwner(port, address) : undefined;
    throw portError(error, setting, address, port, owner && formatPortOwner(owner));
  }
}

/** Returns the error for a port that cannot be listened on. @param owner the process that listens on it */
export function portError(
  error: unknown,
  setting: string,
  address: string | undefined,
  port: number,
  owner?: string,
): AgentError {
  const endpoint = `${address?.includes(":") === true ? `[${address}]` : (address ?? "*")}:${port}`;
  const named = listenError({ setting, address: endpoint, ...(owner !== undefined && { owner }) }, error);
  if (named instanceof SettingError) return new AgentError("address", named.message, { cause: error });
  return AgentError.from(error, "address", `${setting} ${endpoint}: cannot be listened on`);
}

/** Reports whether a process accepts connections on a Unix socket. */
export function acceptsConnections(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(shortPath(path));
    const done = (served: boolean): void => {
      socket.destroy();
      resolve(served);
    };
    socket.setTimeout(1000, () => done(false));
    socket.once("connect", () => done(true));
    socket.once("error", () => done(false));
  });
}

/** Returns the path, made relative to the current directory if it is too long otherwise. */
function shortPath(path: string): string {
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return path;
  const other = relative(process.cwd(), path);
  if (Buffer.byteLength(other) <= MAX_PATH_BYTES) return other;
  throw new AgentError(
    "address",
    `socket ${path}: path is longer than ${MAX_PATH_BYTES} bytes; choose a directory with a shorter path`,
  );
}
