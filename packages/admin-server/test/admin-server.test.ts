import { once } from "node:events";
import { type RequestListener, request } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { BodyTooLargeError, createAdminServer, type HttpLimits, readBody } from "@istiod/admin-server";
import { afterEach, expect, it } from "vitest";

const closing: (() => unknown)[] = [];
afterEach(() => Promise.all(closing.splice(0).map((close) => close())));

async function serve(limits: HttpLimits, listener: RequestListener = (_, response) => response.end("ok")) {
  const server = createAdminServer(listener, limits);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Connects from an address of 127.0.0.0/8. */
async function open(port: number, localAddress = "127.0.0.1"): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  socket.on("error", () => undefined);
  closing.push(() => socket.destroy());
  await once(socket, "connect");
  return socket;
}

/** Sends text, and returns the answer once the server closes the connection. */
async function raw(port: number, text: string): Promise<string> {
  const socket = await open(port);
  let answer = "";
  socket.on("data", (chunk: Buffer) => (answer += chunk.toString()));
  socket.write(text);
  await once(socket, "close");
  return answer;
}

it("closes connections that send no request", async () => {
  const port = await serve({ headersMs: 50, requestMs: 100, idleMs: 100 });
  expect(await raw(port, "")).toMatch(/^(HTTP\/1.1 408 |$)/);
});

it("answers 408 to headers and bodies that do not end", async () => {
  const port = await serve({ headersMs: 50, requestMs: 100 }, (message, response) => {
    message.resume();
    message.once("end", () => response.end());
  });
  expect(await raw(port, "GET / HTTP/1.1\r\nHost: a\r\nX: ")).toMatch(/^HTTP\/1.1 408 /);
  expect(await raw(port, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc")).toMatch(/^HTTP\/1.1 408 /);
});

it("answers 431 to large headers", async () => {
  const port = await serve({ maxHeaderBytes: 2048 });
  expect(await raw(port, `GET / HTTP/1.1\r\nHost: a\r\nX: ${"y".repeat(3000)}\r\n\r\n`)).toMatch(/^HTTP\/1.1 431 /);
});

it("closes idle connections, but not while it prepares an answer", async () => {
  const port = await serve({ idleMs: 50, headersMs: 1000 }, (_, response) => {
    setTimeout(() => response.end("late"), 200);
  });
  const answer = await raw(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  expect(answer).toMatch(/^HTTP\/1.1 200 /);
  expect(answer).toContain("late");
});

it("closes connections of clients that do not read the answer", async () => {
  let closed: () => void;
  const close = new Promise<void>((resolve) => (closed = resolve));
  const port = await serve({ idleMs: 50, headersMs: 1000 }, (_, response) => {
    response.once("close", closed).write(Buffer.alloc(32 * 1024 * 1024));
  });
  const socket = await open(port);
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await close;
});

it("closes the connections of an address with many, and serves the others", async () => {
  let limited = 0;
  const port = await serve({ maxConnections: 5, limited: () => limited++ });
  const other = await open(port, "127.0.0.2");
  let closed = 0;
  for (let number = 0; number < 20; number++) (await open(port)).once("close", () => closed++);
  while (closed < 16) await new Promise((resolve) => setTimeout(resolve, 5));
  expect([closed, limited]).toEqual([16, 16]);
  other.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const [chunk] = (await once(other, "data")) as [Buffer];
  expect(chunk.toString()).toMatch(/^HTTP\/1.1 200 /);
});

it("reads a body up to a limit", async () => {
  const port = await serve({}, (message, response) => {
    void readBody(message, 10).then(
      (body) => response.end(`read ${body.toString()}`),
      (error: unknown) => response.end(error instanceof BodyTooLargeError ? error.message : "other"),
    );
  });
  const post = async (body: string): Promise<string> => {
    const sent = request({ port, host: "127.0.0.1", method: "POST" });
    sent.end(body);
    const [response] = (await once(sent, "response")) as [AsyncIterable<Buffer>];
    let text = "";
    for await (const chunk of response) text += chunk.toString();
    return text;
  };
  expect(await post("0123456789")).toBe("read 0123456789");
  expect(await post("0123456789a")).toBe("the request body is larger than 10 bytes");
});
