import { once } from "node:events";
import { createConnection, type Socket } from "node:net";

/** Frame types of HTTP/2 (RFC 9113, 6). */
export const frameType = {
  data: 0,
  headers: 1,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  continuation: 9,
} as const;

export const endHeaders = 4;
export const emptySettings = frame(frameType.settings, 0, 0, Buffer.alloc(0));
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
export const adsPath = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";

/** Returns a frame. */
export function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Returns the header block of a call, without Huffman coding or the dynamic table (RFC 7541). */
export function callHeaders(path = adsPath): Buffer {
  const text = (value: string): Buffer => {
    const bytes = Buffer.from(value);
    return Buffer.concat([
      bytes.length < 127 ? Buffer.from([bytes.length]) : Buffer.from([127, bytes.length - 127]),
      bytes,
    ]);
  };
  return Buffer.concat([
    Buffer.from([0x83, 0x86, 0x04]),
    text(path),
    Buffer.from([0x01]),
    text("istiod"),
    Buffer.from([0x0f, 0x10]),
    text("application/grpc"),
  ]);
}

/** Returns the frame that opens a stream. */
export function openStream(stream: number, path?: string): Buffer {
  return frame(frameType.headers, endHeaders, stream, callHeaders(path));
}

/** A TCP connection of which the test sends the bytes. */
export interface RawConnection {
  readonly socket: Socket;
  /** Types of the frames that were received. */
  readonly received: readonly number[];
  readonly isClosed: boolean;
}

/** Connects without sending anything. */
export async function connectRaw({ host, port }: { host: string; port: number }, localAddress?: string) {
  const socket = createConnection({ host, port, ...(localAddress !== undefined && { localAddress }) });
  const received: number[] = [];
  let isClosed = false;
  let rest = Buffer.alloc(0);
  socket.on("error", () => undefined);
  socket.on("close", () => (isClosed = true));
  socket.on("data", (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      received.push(rest.readUInt8(3));
      rest = rest.subarray(9 + rest.readUIntBE(0, 3));
    }
  });
  await once(socket, "connect");
  return {
    socket,
    received,
    get isClosed() {
      return isClosed;
    },
  } satisfies RawConnection;
}

/** Connects and completes the handshake of HTTP/2. */
export async function connectHttp2(
  address: { host: string; port: number },
  localAddress?: string,
): Promise<RawConnection> {
  const connection = await connectRaw(address, localAddress);
  connection.socket.write(Buffer.concat([preface, emptySettings]));
  return connection;
}
