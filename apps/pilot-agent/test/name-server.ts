import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterAll } from "vitest";

const ATTEMPTS = 20;

/** Binds a UDP socket and a TCP server to the same port of 127.0.0.1. Both are closed after the file's tests. */
export async function listenOnBoth(
  onDatagram: (message: Buffer, reply: (response: Buffer) => void) => void,
  onConnection: (socket: Socket) => void,
): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const tcp = createServer(onConnection);
    await new Promise<void>((resolve) => tcp.listen(0, "127.0.0.1", resolve));
    const { port } = tcp.address() as AddressInfo;
    const udp = createSocket("udp4");
    udp.on("message", (message, from) =>
      onDatagram(message, (response) => udp.send(response, from.port, from.address)),
    );
    if (await bind(udp, port)) {
      afterAll(() => (udp.close(), tcp.close()));
      return port;
    }
    await close(tcp);
    if (attempt === ATTEMPTS) throw new Error("no port is free for both UDP and TCP");
  }
}

function bind(socket: UdpSocket, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    socket.once("error", () => resolve(false));
    socket.bind(port, "127.0.0.1", () => resolve(true));
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
