import { randomBytes } from "node:crypto";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { RedirectionError } from "./errors.js";

/** Options of {@link verifyCapture}. */
export interface VerifyOptions {
  /** The proxy's ports. The proxy must not be running yet. */
  readonly proxyPorts: readonly number[];
  /** Destination port of the test connections, on which no process listens. */
  readonly probePort: number;
  /** Milliseconds. */
  readonly timeout: number;
  readonly ipv6: boolean;
}

/** Milliseconds until a test connection without a result is replaced. */
const CONNECTION_TIMEOUT = 1000;

/**
 * Verifies that connections are redirected: listens on the proxy's ports, connects to an address without a listener,
 * and waits for its message to arrive. Run it in the pod as the proxy's user, as other users' loopback traffic is not
 * captured.
 *
 * @throws RedirectionError `command` on timeout, or if the proxy's ports are in use
 */
export async function verifyCapture({ proxyPorts, probePort, timeout, ipv6 }: VerifyOptions): Promise<void> {
  const [localAddress, host] = ipv6 ? ["::1", "::6"] : ["127.0.0.1", "127.0.0.6"];
  const message = randomBytes(16).toString("hex");
  const sockets = new Set<Socket>();
  let hasArrived = false;
  const accept = (socket: Socket): void => {
    sockets.add(socket);
    let received = "";
    socket
      .setEncoding("utf8")
      .on("error", () => undefined)
      .on("data", (chunk: string) => (hasArrived ||= (received += chunk).startsWith(message)));
  };
  const servers = await Promise.all(proxyPorts.map((port) => listen(port, localAddress, accept)));
  try {
    for (const deadline = Date.now() + timeout; !hasArrived && Date.now() < deadline; await sleep(50)) {
      const socket = createConnection({ host, port: probePort, localAddress });
      sockets.add(socket);
      socket.on("error", () => undefined).on("connect", () => socket.write(message));
      const connectionDeadline = Math.min(Date.now() + CONNECTION_TIMEOUT, deadline);
      while (!hasArrived && !socket.destroyed && Date.now() < connectionDeadline) await sleep(20);
    }
    if (!hasArrived)
      throw new RedirectionError(
        "command",
        `a connection to ${host} port ${probePort} did not arrive at the proxy's port within ${timeout / 1000}s: traffic is not redirected`,
      );
  } finally {
    for (const socket of sockets) socket.destroy();
    for (const server of servers) server.close();
  }
}

function listen(port: number, address: string, accept: (socket: Socket) => void): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer(accept);
    server.once("error", (cause) =>
      reject(new RedirectionError("command", `cannot listen on the proxy's port ${port}: ${cause.message}`, { cause })),
    );
    server.listen(port, address, () => resolve(server));
  });
}
