import type { Http2Stream } from "node:http2";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, it } from "vitest";
import { SocketServer } from "../src/socket-server.js";
import { listenOnSocket } from "../src/socket.js";
import { SocketAuthorityRewriter, withSocketAuthority } from "../src/xds-proxy/socket-authority.js";
import { scratch } from "./fakes.js";

const preface = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, Buffer.alloc(0))]);

function frame(type: number, stream: number, payload: Buffer, flags = 0): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

/** A literal header field whose name has an index. */
const field = (first: number, value: string): Buffer =>
  Buffer.concat([Buffer.from([first, value.length]), Buffer.from(value)]);

/** The headers of a call as grpc-java sends them, with `:method: POST` and `:scheme: http` by their indexes. */
const headers = (authority: string): Buffer =>
  frame(1, 3, Buffer.concat([field(0x41, authority), field(0x44, "/a/b"), Buffer.from([0x83, 0x86])]), 0x05);

it("a client may name the path of the socket as its authority, as grpc-java does", async () => {
  const path = join(await scratch(), "xds.sock");
  const server = new SocketServer({
    maxStreams: 1,
    limited: () => undefined,
    accept: (socket) => withSocketAuthority(socket, path),
  });
  const authority = new Promise((resolve) => {
    server.http.on("stream", (stream: Http2Stream, received: Record<string, unknown>) => {
      stream.on("error", () => undefined);
      resolve(received[":authority"]);
    });
  });
  await listenOnSocket(server.listener, path, "all");
  const client = connect(path);
  client.on("error", () => undefined);
  client.write(Buffer.concat([preface, headers(path)]));
  const reset = new Promise((resolve) => {
    client.on("data", (bytes: Buffer) => bytes[3] === 3 && resolve("reset"));
  });
  expect(await Promise.race([authority, reset])).toBe(path.replaceAll("/", "-"));
  client.destroy();
  await server.close();
});

it("bytes are rewritten in headers only, wherever the parts of a connection end", () => {
  const path = "/etc/xds.sock";
  const data = frame(0, 3, field(0x41, path));
  const sent = Buffer.concat([preface, headers(path), data, headers("localhost"), headers(path)]);
  const valid = headers("-etc-xds.sock");
  const expected = Buffer.concat([preface, valid, data, headers("localhost"), valid]);
  for (const size of [1, 2, 7, 10, 64, sent.length]) {
    const rewriter = new SocketAuthorityRewriter(path);
    const parts: Buffer[] = [];
    for (let at = 0; at < sent.length; at += size)
      parts.push(Buffer.from(rewriter.rewrite(Buffer.from(sent.subarray(at, at + size)))));
    expect(Buffer.concat(parts).equals(expected), `parts of ${size} bytes`).toBe(true);
  }
});

it("a frame that is longer than the settings allow is not kept back", () => {
  const rewriter = new SocketAuthorityRewriter("/etc/xds.sock");
  const long = frame(1, 3, Buffer.alloc(20_000));
  expect(rewriter.rewrite(Buffer.concat([preface, long.subarray(0, 100)]))).toHaveLength(preface.length + 100);
  const short = frame(1, 3, Buffer.alloc(10_000));
  expect(rewriter.rewrite(long.subarray(100))).toHaveLength(long.length - 100);
  expect(rewriter.rewrite(short.subarray(0, 100))).toHaveLength(0);
  expect(rewriter.rewrite(short.subarray(100))).toEqual(short);
});
