import { ConnectError } from "@connectrpc/connect";
import { encodeFrame } from "@istiod/protobuf-wire";
import { requestReader } from "@istiod/xds-server/testing";
import type { Target } from "../target.js";

const maxBytes = 64;

/** The reader of gRPC requests: the first byte of the input is the length of the chunks that the others come in. */
export const grpcFrames: Target = {
  name: "grpc-frames",
  description: "the reader of gRPC requests, in chunks of any length",
  seeds: [
    Buffer.from([0]),
    Buffer.concat([Buffer.from([3]), encodeFrame(Buffer.from("request")), encodeFrame(Buffer.alloc(0))]),
    Buffer.concat([Buffer.from([200]), encodeFrame(Buffer.alloc(maxBytes + 1))]),
    Buffer.concat([Buffer.from([1]), encodeFrame(Buffer.alloc(10), 20)]),
  ],
  run(input) {
    const body = Buffer.from(input.subarray(1));
    const whole = read([body]);
    const size = Math.max(1, input[0] ?? 1);
    const chunks = Array.from({ length: Math.ceil(body.length / size) }, (_, i) =>
      body.subarray(i * size, (i + 1) * size),
    );
    const cut = read(chunks);
    if (cut !== whole) throw new Error(`chunks of ${size} bytes are read as ${cut}, the whole body as ${whole}`);
  },
};

/** Returns the messages of a body and its error, as text. */
function read(chunks: readonly Buffer[]): string {
  const messages: string[] = [];
  const { reader, bytes } = requestReader(maxBytes, (message) => {
    if (message.length > maxBytes) throw new Error(`message of ${message.length} bytes`);
    messages.push(message.toString("hex"));
  });
  let outcome = "OK";
  try {
    for (const chunk of chunks) if (reader.push(chunk) !== undefined) throw new Error("waits for memory");
    reader.end();
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    outcome = error.message;
  }
  reader.close();
  if (bytes() !== 0) throw new Error(`${bytes()} bytes are not released`);
  return [...messages, outcome].join();
}
