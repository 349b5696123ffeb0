import { mkdir, rm } from "node:fs/promises";
import { connect, type Server } from "node:net";
import { dirname, relative } from "node:path";
import { listenError, SettingError } from "@istiod/settings";
import { AgentError } from "./errors.js";
import { findPortOwner, formatPortOwner } from "./processes/port-owner.js";

/** The kernel's limit on a socket's path, less its closing zero (unix(7)). */
const LONGEST_PATH = 107;

/**
 * Listens on a Unix socket, in a directory that is made if it is absent. A socket that nobody serves any more is
 * replaced.
 *
 * @throws AgentError `address`
 */
export async function listenOnSocket(server: Server, path: string): Promise<void> {
  const short = shortest(path);
  if (await acceptsConnections(path)) throw new AgentError("address", `socket ${path} is served by another process`);
  try {
    await mkdir(dirname(path), { recursive: true });
    await rm(path, { force: true });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(short, () => {
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
 * @param address absent: all
 * @param setting names what chooses the port
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

/** Returns the error of a port that cannot be listened on. @param owner names the process that has it */
export function portError(
  error: unknown,
  setting: string,
  address: string | undefined,
  port: number,
  owner?: string,
): AgentError {
  const where = `${address?.includes(":") === true ? `[${address}]` : (address ?? "*")}:${port}`;
  const named = listenError({ setting, address: where, ...(owner !== undefined && { owner }) }, error);
  if (named instanceof SettingError) return new AgentError("address", named.message, { cause: error });
  return AgentError.from(error, "address", `${setting} ${where}: cannot be listened on`);
}

/** Whether somebody accepts connections on a Unix socket. */
export function acceptsConnections(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(shortest(path));
    const done = (served: boolean): void => {
      socket.destroy();
      resolve(served);
    };
    socket.setTimeout(1000, () => done(false));
    socket.once("connect", () => done(true));
    socket.once("error", () => done(false));
  });
}

/** The path, or the same from the current directory where that is needed to stay within the kernel's limit. */
function shortest(path: string): string {
  if (Buffer.byteLength(path) <= LONGEST_PATH) return path;
  const other = relative(process.cwd(), path);
  if (Buffer.byteLength(other) <= LONGEST_PATH) return other;
  throw new AgentError(
    "address",
    `socket ${path}: its path is longer than the ${LONGEST_PATH} bytes that the system allows; choose a directory with a shorter one`,
  );
}
