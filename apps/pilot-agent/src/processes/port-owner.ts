import { readdir, readFile, readlink } from "node:fs/promises";
import { BlockList, isIP, isIPv6 } from "node:net";

/** A process that listens on a TCP port of this machine. */
export interface PortOwner {
  /** Absent if this user may not inspect the process. */
  readonly pid?: number;
  /** The command line, truncated. */
  readonly command?: string;
  /** User ID of the socket's owner. */
  readonly uid: number;
}

const LISTEN = "0A";
const MAX_COMMAND_LENGTH = 100;

/**
 * Finds the process that listens on a port, from /proc.
 *
 * @param address the address that cannot be bound. Default: any
 * @returns `undefined` if nothing listens there, or the system has no /proc
 */
export async function findPortOwner(port: number, address?: string): Promise<PortOwner | undefined> {
  const sockets = await listeningSockets(port, address);
  const socket = sockets[0];
  if (socket === undefined) return undefined;
  const pid = await findHolder(new Set(sockets.map(({ inode }) => inode)));
  if (pid === undefined) return { uid: socket.uid };
  return { pid, command: await readCommand(pid), uid: socket.uid };
}

/** Formats the owner as `pid 12 (node server.js)`, or with the user ID if the process is unknown. */
export function formatPortOwner({ pid, command, uid }: PortOwner): string {
  if (pid === undefined) return `a process of user ID ${uid}`;
  return `pid ${pid}${command ? ` (${command})` : ""}`;
}

interface ListeningSocket {
  readonly inode: string;
  readonly uid: number;
}

async function listeningSockets(port: number, address: string | undefined): Promise<ListeningSocket[]> {
  const tables = await Promise.all(
    ["tcp", "tcp6"].map((name) => readFile(`/proc/net/${name}`, "utf8").catch(() => "")),
  );
  const found: ListeningSocket[] = [];
  for (const line of tables.join("\n").split("\n")) {
    const [, local = "", , state, , , , uid = "", , inode = ""] = line.trim().split(/\s+/);
    const [host = "", hexPort = ""] = local.split(":");
    if (state !== LISTEN || Number.parseInt(hexPort, 16) !== port) continue;
    if (conflicts(decodeAddress(host), address)) found.push({ inode, uid: Number(uid) });
  }
  return found;
}

/** Decodes an address of /proc/net/tcp: 32-bit words in the byte order of the machine. */
function decodeAddress(hex: string): string {
  const bytes = Buffer.from(hex, "hex");
  if (isLittleEndian) bytes.swap32();
  if (bytes.length === 4) return bytes.join(".");
  const groups = Array.from({ length: 8 }, (_, n) => bytes.readUInt16BE(2 * n).toString(16));
  return groups.join(":");
}

const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** Reports whether a bound address prevents binding another. */
function conflicts(bound: string, wanted: string | undefined): boolean {
  const any = new BlockList();
  any.addAddress("0.0.0.0");
  any.addAddress("::", "ipv6");
  if (
    wanted === undefined ||
    isIP(wanted) === 0 ||
    any.check(wanted, family(wanted)) ||
    any.check(bound, family(bound))
  )
    return true;
  const same = new BlockList();
  same.addAddress(wanted, family(wanted));
  return same.check(bound, family(bound));
}

function family(address: string): "ipv4" | "ipv6" {
  return isIPv6(address) ? "ipv6" : "ipv4";
}

async function findHolder(inodes: ReadonlySet<string>): Promise<number | undefined> {
  for (const pid of (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name))) {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => "");
      const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
      if (inode !== undefined && inodes.has(inode)) return Number(pid);
    }
  }
  return undefined;
}

async function readCommand(pid: number): Promise<string> {
  const text = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).replaceAll("\0", " ").trim();
  // Other users' command lines may contain terminal escapes.
  const printable = text.replaceAll(/[^\x20-\x7e]/g, "?");
  return printable.length > MAX_COMMAND_LENGTH ? `${printable.slice(0, MAX_COMMAND_LENGTH)}…` : printable;
}
