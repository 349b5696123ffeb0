import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** Forwards connections to a port. */
export interface CountingRelay {
  readonly port: number;
  /** Bytes that came from there. */
  readonly received: number;
  close(): void;
}

/** Starts a relay on 127.0.0.1 to another port there. */
export async function countingRelay(target: number): Promise<CountingRelay> {
  let received = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const upstream = connect(target, "127.0.0.1");
    upstream.on("data", (chunk) => (received += chunk.length));
    for (const each of [socket, upstream]) sockets.add(each.on("error", () => undefined));
    socket.pipe(upstream).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get received() {
      return received;
    },
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
