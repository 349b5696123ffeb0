import { connect, createServer } from "node:net";
import { once } from "node:events";

/** Forwards connections at an address of this machine to another, so that pods reach servers on loopback addresses. */
export async function forwardPort(
  address: string,
  port: number,
  to: { readonly host: string; readonly port: number },
): Promise<() => void> {
  const server = createServer((socket) => {
    const upstream = connect(to);
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
      one.pipe(other);
    }
    closers.add(() => socket.destroy());
  });
  const closers = new Set<() => void>();
  server.listen(port, address);
  await once(server, "listening");
  return () => {
    server.close();
    for (const close of closers) close();
  };
}
