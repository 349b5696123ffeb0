import { type AddressInfo, createServer, type Server } from "node:net";
import { probeHttp } from "@istiod/pilot-agent/probes";
import type { Target } from "../target.js";

const head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n";
const maxBody = 10 * 1024;
/** Milliseconds. The server closes its side after the answer, so that a probe never needs them. */
const timeout = 5000;

let answer: Buffer = Buffer.alloc(0);
let started: Promise<Server> | undefined;

/** HTTP responses of an application to a probe of the agent. */
export const probeAnswers: Target = {
  name: "probe-answers",
  description: "the agent's HTTP probes",
  seeds: [
    Buffer.from(`${head}content-length: 2\r\n\r\nok`),
    Buffer.from(`${head}transfer-encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nt: v\r\n\r\n`),
    Buffer.from("HTTP/1.1 302 Found\r\nlocation: /a?b\r\n\r\n"),
    Buffer.from("HTTP/1.1 301 Moved\r\nlocation: http://127.0.0.1:1/\r\n\r\n"),
    Buffer.from("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 204 No Content\r\n\r\n"),
  ],
  dictionary: ["\r\n", "HTTP/1.1 ", "location: ", "content-length: ", "upgrade: h2c\r\n", "//", "://"].map((text) =>
    Buffer.from(text),
  ),
  async run(input) {
    answer = Buffer.from(input);
    started ??= listen();
    const { port } = (await started).address() as AddressInfo;
    const begin = performance.now();
    const response = await probeHttp({ host: "127.0.0.1", port, path: "/", https: false, headers: {}, timeout }).catch(
      () => undefined,
    );
    if (performance.now() - begin > timeout) throw new Error("the probe needed its timeout");
    if (response && Buffer.byteLength(response.body) > 3 * maxBody) throw new Error("the body exceeds its limit");
    if (response && !(response.status >= 100 && response.status <= 999)) throw new Error(`status ${response.status}`);
  },
};

async function listen(): Promise<Server> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  return server;
}
