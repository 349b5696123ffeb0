import { randomBytes } from "node:crypto";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { RedirectionError } from "./errors.js";

export interface VerifyOptions {
  /** Ports of the proxy, which must not be running yet. */
  readonly proxyPorts: readonly number[];
  /** Port to which a connection is tried; nobody listens there. */
  readonly probePort: number;
  /** Milliseconds. */
  readonly timeout: number;
  readonly ipv6: boolean;
}

/**
 * Finds out whether connections of this process come to the proxy's ports: it takes the proxy's place, connects to an
 * address where nobody is, and waits for its own words to arrive. To be run in the pod as the proxy's user: what others
 * send over loopback is the application's own.
 *
 * @throws RedirectionError `command` where they do not come in time, or the proxy's ports are taken
 */
export async function verifyCapture({ proxyPorts, probePort, timeout, ipv6 }: VerifyOptions): Promise<void> {
  const [own, nobody] = ipv6 ? ["::1", "::6"] : ["127.0.0.1", "127.0.0.6"];
  const words = randomBytes(16).toString("hex");
  const open = new Set<Socket>();
  let arrived = false;
  const listen = (port: number): Promise<Server> =>
    new Promise((resolve, reject) => {
      const server = createServer((socket) => {
        open.add(socket);
        let came = "";
        socket
          .setEncoding("utf8")
          .on("error", () => undefined)
          .on("data", (chunk: string) => (arrived ||= (came += chunk).startsWith(words)));
      });
      server.once("error", (error) =>
        reject(
          new RedirectionError("command", `port ${port} of the proxy cannot be listened on: ${error.message}`, {
            cause: error,
          }),
        ),
      );
      server.listen(port, own, () => resolve(server));
    });
  const servers = await Promise.all(proxyPorts.map(listen));
  try {
    for (const until = Date.now() + timeout; !arrived && Date.now() < until; await sleep(50)) {
      const socket = createConnection({ host: nobody, port: probePort, localAddress: own });
      open.add(socket);
      socket.on("error", () => undefined).on("connect", () => socket.write(words));
      for (let waited = 0; !arrived && waited < 1000 && !socket.destroyed && Date.now() < until; waited += 20)
        await sleep(20);
    }
    if (!arrived)
      throw new RedirectionError(
        "command",
        `a connection to ${nobody} port ${probePort} did not come to the proxy's port within ${timeout / 1000} s: traffic is not captured here`,
      );
  } finally {
    for (const socket of open) socket.destroy();
    for (const server of servers) server.close();
  }
}
