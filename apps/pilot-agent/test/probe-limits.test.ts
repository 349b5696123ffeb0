import http from "node:http";
import http2 from "node:http2";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { JsonValue } from "@bufbuild/protobuf";
import { afterAll, describe, expect, it } from "vitest";
import { silentLog } from "../src/log.js";
import { appProbes } from "../src/probes/app-probes.js";

const PATH = "/app-health/app/readyz";

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => void sockets.add(socket.on("error", () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Starts a server that sends bytes to each client, whatever it asks, and repeats `endless` until it leaves. */
function bytes(text: string, endless?: string): Promise<number> {
  const server = createServer((socket) => {
    const pump = (): void => {
      if (endless !== undefined && !socket.destroyed) socket.write(endless, () => setImmediate(pump));
    };
    socket.once("data", () => socket.write(text, pump));
  });
  return listen(server);
}

const probe = (definition: JsonValue, headers: http.IncomingHttpHeaders = { host: "10.0.0.1:15020" }) =>
  appProbes({ text: JSON.stringify({ [PATH]: definition }), host: "127.0.0.1", statusPort: 15020, log: silentLog })(
    PATH,
    headers,
  );
const get = (port: number, headers?: http.IncomingHttpHeaders) =>
  probe({ httpGet: { path: "/", port }, timeoutSeconds: 2 }, headers);

describe("an application's redirect", () => {
  it("to another port, host or scheme is a success that is not followed", async () => {
    const asked: string[] = [];
    const other = await listen(http.createServer((_, response) => (asked.push("other"), response.end("secret"))));
    let location = "";
    const port = await listen(
      http.createServer((request, response) => {
        asked.push(request.url ?? "");
        response.writeHead(302, { location }).end();
      }),
    );
    for (location of [
      `http://127.0.0.1:${other}/`,
      `//127.0.0.1:${other}/`,
      `http://user:password@127.0.0.1:${other}/`,
      `https://127.0.0.1:${port}/`,
      "http://example.com/",
      "file:///etc/passwd",
      "http://[",
    ]) {
      asked.length = 0;
      expect(await get(port)).toEqual({ status: 200, body: "" });
      expect(asked).toEqual(["/"]);
    }
  });

  it("to its own port is followed, in relative and absolute form", async () => {
    const port = await listen(
      http.createServer((request, response) => {
        if (request.url === "/") response.writeHead(301, { location: `http://127.0.0.1:${port}/a` }).end();
        else if (request.url === "/a") response.writeHead(307, { location: "b?c" }).end();
        else response.end(request.url);
      }),
    );
    expect(await get(port)).toEqual({ status: 200, body: "/b?c" });
  });
});

describe("an application's response", () => {
  const head = "HTTP/1.1 200 OK\r\n";

  it("is a success as soon as the kept part of an endless body has arrived", async () => {
    const answer = await get(await bytes(`${head}\r\n`, "x".repeat(1000)));
    expect([answer?.status, answer?.body.length]).toEqual([200, 10 * 1024]);
  });

  it.each([
    ["endless headers", head, "x: y\r\n"],
    ["large headers", `${head}x: ${"y".repeat(20_000)}\r\n\r\n`, undefined],
    ["endless informational responses", "", "HTTP/1.1 100 Continue\r\n\r\n"],
    ["another protocol", "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n", undefined],
    ["no HTTP", "SSH-2.0-x\r\n", undefined],
    ["two lengths", `${head}content-length: 1\r\ncontent-length: 2\r\n\r\nab`, undefined],
    ["status 0", "HTTP/1.1 000 OK\r\ncontent-length: 0\r\n\r\n", undefined],
    ["an impossible status", "HTTP/1.1 9999 x\r\n\r\n", undefined],
    ["a body that never ends", `${head}content-length: 10\r\n\r\nx`, undefined],
  ])("with %s fails within the timeout", async (_, text, endless) => {
    expect(await get(await bytes(text, endless))).toEqual({ status: 500, body: "" });
  });

  it("over gRPC that never ends, is too large or is no HTTP/2 fails within the timeout", async () => {
    const servers = [
      (stream: http2.ServerHttp2Stream) => stream.respond({ "content-type": "application/grpc" }),
      (stream: http2.ServerHttp2Stream) => {
        stream.respond({ "content-type": "application/grpc" });
        stream.write(Buffer.alloc(100_000));
      },
      (stream: http2.ServerHttp2Stream) => stream.session?.goaway(0),
      (stream: http2.ServerHttp2Stream) => stream.close(0),
      (stream: http2.ServerHttp2Stream) => stream.session?.destroy(),
    ].map((onStream) =>
      http2.createServer().on("stream", (stream) => (stream.on("error", () => undefined), onStream(stream))),
    );
    const ports = [
      ...(await Promise.all(servers.map((server) => listen(server)))),
      await bytes("HTTP/1.1 200 OK\r\n\r\n", "x"),
    ];
    for (const port of ports) {
      const answer = await probe({ grpc: { port }, timeoutSeconds: 0.5 });
      expect(answer).toEqual({ status: 500, body: "" });
    }
  });
});

it("headers of the prober's connection do not reach the application", async () => {
  let seen: http.IncomingHttpHeaders = {};
  const port = await listen(
    http.createServer((request, response) => {
      seen = request.headers;
      response.end("ok");
    }),
  );
  const answer = await get(port, {
    host: "10.0.0.1:15020",
    "content-length": "10",
    "transfer-encoding": "chunked",
    expect: "100-continue",
    upgrade: "h2c",
    connection: "upgrade",
    "x-own": "1",
  });
  expect(answer).toEqual({ status: 200, body: "ok" });
  expect(seen).toEqual({ host: `10.0.0.1:${port}`, "x-own": "1", connection: "close" });
});

it("paths with the names of an object's properties are not probes", () => {
  const probes = appProbes({ text: "{}", host: "127.0.0.1", statusPort: 15020, log: silentLog });
  for (const path of ["__proto__", "constructor", "/__proto__"]) expect(probes(path, {})).toBeUndefined();
});
