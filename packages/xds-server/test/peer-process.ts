import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { encodeFrame } from "@istiod/protobuf-wire";
import { onTestFinished } from "vitest";

/** A process at the other end of connections. It reads everything while it runs. */
export interface PeerProcess {
  /** Returns the next line that the process prints. */
  line(): Promise<string>;
  /** Suspends the process. It reads nothing from then on. */
  stop(): void;
  /** Kills the process with SIGKILL, and waits for its end. */
  kill(): Promise<void>;
}

/** Returns the number of connections of this process. One that is left open keeps a process from exiting. */
export function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
}

/** HTTP/2 flow control must not stop the writer before the socket does. */
const window = 2 ** 30;

/** Prints its port, then a line for each stream. */
const serverProgram = `
import http2 from "node:http2";
const { tls, window } = JSON.parse(process.argv[1]);
const settings = { initialWindowSize: window };
const server = tls === undefined ? http2.createServer({ settings }) : http2.createSecureServer({ ...tls, settings });
server.on("session", (session) => session.setLocalWindowSize(window));
server.on("stream", (stream) => {
  stream.respond({ ":status": 200 });
  stream.resume();
  console.log("stream");
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
`;

/** Opens streams on connections of their own. Prints a line for each stream that has received something. */
const clientsProgram = `
import http2 from "node:http2";
const { count, url, path, message, window } = JSON.parse(process.argv[1]);
for (let client = 0; client < count; client++) {
  const session = http2.connect(url, { rejectUnauthorized: false, settings: { initialWindowSize: window } });
  session.once("connect", () => session.setLocalWindowSize(window));
  const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
  const stream = session.request(headers);
  stream.write(Buffer.from(message, "base64"));
  stream.once("data", () => console.log("served"));
  stream.resume();
}
`;

/** Starts an HTTP/2 server on 127.0.0.1. */
export async function startServer(
  tls: { readonly cert: string; readonly key: string } | undefined,
): Promise<PeerProcess & { readonly port: number }> {
  const peer = start(serverProgram, { tls, window });
  return { ...peer, port: Number(await peer.line()) };
}

/** Starts clients of which each opens a stream and sends a message. Resolves when each has received something. */
export async function startClients(
  count: number,
  url: string,
  path: string,
  message: Uint8Array,
): Promise<PeerProcess> {
  const frame = Buffer.from(encodeFrame(message)).toString("base64");
  const peer = start(clientsProgram, { count, url, path, message: frame, window });
  for (let client = 0; client < count; client++) await peer.line();
  return peer;
}

function start(program: string, options: object): PeerProcess {
  const child = spawn(process.execPath, ["--input-type=module", "-e", program, JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exit = once(child, "exit");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exit;
  };
  onTestFinished(kill);
  return {
    async line() {
      const { value, done } = await lines.next();
      if (done === true) throw new Error("the peer process has ended");
      return value;
    },
    stop: () => void child.kill("SIGSTOP"),
    kill,
  };
}
