import { spawn } from "node:child_process";
import type { Duplex } from "node:stream";
import { guarded } from "../network/commands.js";

/**
 * Returns the start of commands that run in the network of a pod.
 *
 * @throws Error if the pod does not run
 */
export type PodNetworkEntry = (pod: { readonly namespace: string; readonly pod: string }) => readonly string[];

/** Written by the relay before all else when it is connected. */
const CONNECTED = "+";

/**
 * Program that connects to a loopback address, and copies between the connection and its own input and output. It
 * exits with 1 and a reason if nothing listens.
 */
const relay = `
const { connect } = require("node:net");
const attempt = ([host, ...others]) => {
  const socket = connect({ host, port: Number(process.argv[1]), allowHalfOpen: true });
  socket.once("connect", () => {
    process.stdout.write("${CONNECTED}");
    process.stdin.pipe(socket).pipe(process.stdout);
    socket.on("error", () => process.exit(0));
    process.stdout.on("error", () => process.exit(0));
    socket.once("close", () => process.exit(0));
  });
  socket.once("error", (error) => {
    if (socket.bytesRead > 0 || socket.bytesWritten > 0) return;
    if (others.length > 0) return attempt(others);
    process.stderr.write(error.message, () => process.exit(1));
  });
};
attempt(["127.0.0.1", "::1"]);
`;

/**
 * Connects to a port of a pod at its loopback address, as the kubelet does, and copies between that connection and the
 * API server's, with a status line before. Without a connection the status is 400, with the reason.
 *
 * @param url `/forward?namespace=…&pod=…&port=…`
 */
export function forwardToPod(url: URL, connection: Duplex, network: PodNetworkEntry): void {
  connection.on("error", () => connection.destroy());
  const query = url.searchParams;
  const [namespace = "", pod = "", port = ""] = ["namespace", "pod", "port"].map((name) => query.get(name) ?? "");
  const refuse = (reason: string): void =>
    refuseUpgrade(connection, `port ${port} of pod ${namespace}/${pod}: ${reason}`);
  let entry: readonly string[];
  try {
    entry = network({ namespace, pod });
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
  const [file, ...args] = [...guarded, ...entry, process.execPath, "-e", relay, port];
  const child = spawn(file, args, { stdio: ["pipe", "pipe", "pipe"] });
  let errors = "";
  let isConnected = false;
  child.stdin.on("error", () => undefined);
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  child.stdout.once("data", (first: Buffer) => {
    isConnected = true;
    connection.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
    connection.write(first.subarray(CONNECTED.length));
    connection.pipe(child.stdin);
    child.stdout.pipe(connection);
  });
  child.once("error", ({ message }) => void (errors ||= message));
  child.once("close", () => {
    if (!isConnected) refuse(errors.trim() || "the connection failed");
  });
  connection.once("close", () => child.kill("SIGKILL"));
}

/** Answers a request for an upgrade with status 400 and a reason. */
export function refuseUpgrade(connection: Duplex, reason: string): void {
  connection.end(
    `HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(reason)}\r\n\r\n${reason}`,
  );
}
