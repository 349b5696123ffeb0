import type { Stats } from "node:fs";
import { chmod, lstat, mkdir, rm } from "node:fs/promises";
import http2 from "node:http2";
import { connect, type Server } from "node:net";
import { dirname, relative } from "node:path";
import { isMainThread } from "node:worker_threads";
import { listenBacklog } from "@istiod/runtime";
import { listenError, SettingError } from "@istiod/settings";
import { AgentError } from "./errors.js";
import { findPortOwner, formatPortOwner } from "./processes/port-owner.js";

/** Maximum length of a Unix socket's path in bytes, without the terminating zero (unix(7)). */
const MAX_PATH_BYTES = 107;
/** Mode of directories in which users may replace their own files only, such as /tmp. */
const STICKY = 0o1000;

/** The users that may connect to a socket: that of the agent, or all that reach it, such as the containers of a pod. */
export type SocketUsers = "owner" | "all";

/**
 * Listens on a Unix socket that by default only this user can connect to. Its directory is then created for this user
 * only if absent, and becomes private if this user owns it, unless it is shared by others as /tmp is. A stale socket is
 * replaced.
 *
 * @throws AgentError `address`, also if the socket or its directory belongs to another user than root, or is a link
 */
export async function listenOnSocket(server: Server, path: string, users: SocketUsers = "owner"): Promise<void> {
  const listenPath = shortPath(path);
  try {
    if (users === "owner") await preparePrivateDirectory(dirname(path));
    else await mkdir(dirname(path), { recursive: true, mode: 0o755 });
    await checkSocket(path);
    if (await acceptsConnections(path)) throw new AgentError("address", `socket ${path} is served by another process`);
    await rm(path, { force: true });
    await listen(server, () => withPrivateUmask(() => server.listen({ path: listenPath, backlog: listenBacklog })));
    await chmod(path, users === "owner" ? 0o600 : 0o666);
  } catch (error) {
    throw AgentError.from(error, "address", `socket ${path} cannot be listened on`);
  }
}

/**
 * Checks that a path is absent, or a socket of this user or root.
 *
 * @throws AgentError `address`
 */
export async function checkSocket(path: string): Promise<void> {
  const stats = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (!stats) return;
  if (!stats.isSocket()) throw new AgentError("address", `${path} is not a socket`);
  if (!isTrustedOwner(stats)) throw new AgentError("address", `socket ${path} belongs to user ID ${stats.uid}`);
}

async function preparePrivateDirectory(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const stats = await lstat(directory);
  if (!stats.isDirectory()) throw new AgentError("address", `${directory} is not a directory`);
  if (!isTrustedOwner(stats)) throw new AgentError("address", `directory ${directory} belongs to user ID ${stats.uid}`);
  const isShared = (stats.mode & STICKY) !== 0;
  if (stats.uid === process.getuid?.() && !isShared && (stats.mode & 0o077) !== 0) await chmod(directory, 0o700);
}

/** Root's files are trusted, because volumes of a pod belong to root, and root may do everything. */
function isTrustedOwner({ uid }: Stats): boolean {
  return uid === 0 || uid === process.getuid?.();
}

/** Runs a function while files are created for this user only. Worker threads cannot change the mask. */
function withPrivateUmask(action: () => void): void {
  if (!isMainThread) return action();
  const mask = process.umask(0o177);
  try {
    action();
  } finally {
    process.umask(mask);
  }
}

/** Starts listening and waits for it. Later errors, such as of a failed accept, do not end the process. */
async function listen(server: Server, start: () => void): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.once("listening", () => {
      server.off("error", reject);
      server.on("error", () => undefined);
      resolve();
    });
    start();
  });
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
    await listen(server, () => server.listen({ port, host: address, backlog: listenBacklog }));
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

/** Reports whether a process serves HTTP/2, as gRPC servers do, on a Unix socket. */
export function servesHttp2(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const session = http2.connect("http://localhost", { createConnection: () => connect(shortPath(path)) });
    const timer = setTimeout(() => done(false), 1000);
    const done = (served: boolean): void => {
      clearTimeout(timer);
      session.destroy();
      resolve(served);
    };
    session.once("remoteSettings", () => done(true));
    session.on("error", () => done(false));
    session.once("close", () => done(false));
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
