import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { issueServingCertificate } from "@istiod/ca";
import { encodeFrame } from "@istiod/protobuf-wire";
import { expect, it, onTestFinished } from "vitest";
import { fileToken } from "../src/credentials/file-token.js";
import { openUpstream } from "../src/xds-proxy/upstream.js";
import { XdsProxy } from "../src/xds-proxy/xds-proxy.js";
import { FakeIstiod, put, scratch, TOKEN } from "./fakes.js";

/** More than the buffers of a connection hold. */
const blockedBytes = 8 * 1024 * 1024;
const path = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";

/** Prints its port, then a line for each stream, and reads everything. */
const serverProgram = `
import http2 from "node:http2";
const { key, cert } = JSON.parse(process.argv[1]);
const server = http2.createSecureServer({ key, cert, settings: { initialWindowSize: 2 ** 30 } });
server.on("session", (session) => session.setLocalWindowSize(2 ** 30));
server.on("stream", (stream) => {
  stream.respond({ ":status": 200 });
  stream.resume();
  console.log("stream");
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
`;

/** Opens a stream on a Unix socket, prints a line when it has received something, and reads everything. */
const envoyProgram = `
import http2 from "node:http2";
import net from "node:net";
const { socket, path, message } = JSON.parse(process.argv[1]);
const createConnection = () => net.connect(socket);
const session = http2.connect("http://agent", { createConnection, settings: { initialWindowSize: 2 ** 30 } });
session.once("connect", () => session.setLocalWindowSize(2 ** 30));
const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
const stream = session.request(headers);
stream.write(Buffer.from(message, "base64"));
stream.once("data", () => console.log("served"));
stream.resume();
`;

/** Starts a process at the other end of connections. `line` returns the next line that it prints. */
function startPeer(program: string, options: object) {
  const child = spawn(process.execPath, ["--input-type=module", "-e", program, JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exit = once(child, "exit");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exit;
  };
  onTestFinished(kill);
  return { line: async () => String((await lines.next()).value), stop: () => child.kill("SIGSTOP"), kill };
}

/** Returns the number of connections over TCP. One that is left open keeps the agent from exiting. */
const openSockets = (): number => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;

it.each(["stopped", "killed"])(
  "closes the connection to an istiod that is %s while requests are written",
  async (how) => {
    const istiod = await FakeIstiod.start();
    const names = ["istiod.istio-system.svc", "127.0.0.1"];
    const serving = await issueServingCertificate(istiod.authority, names, 3_600_000, Date.now());
    const peer = startPeer(serverProgram, serving);
    const port = await peer.line();
    const directory = await scratch();
    await put(join(directory, "root.pem"), istiod.root);
    await put(join(directory, "token"), TOKEN);
    const { session } = await openUpstream({
      address: `127.0.0.1:${port}`,
      tls: { rootFile: join(directory, "root.pem") },
      token: fileToken(join(directory, "token")),
      clusterId: "Kubernetes",
      keepaliveInterval: 2000,
      keepaliveTimeout: 1000,
    });
    let isClosed = false;
    session.once("close", () => (isClosed = true));
    const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
    stream.on("error", () => undefined);
    await peer.line();
    expect(openSockets()).toBe(1);
    peer.stop();
    // In turns of the event loop: Node 20 reports the end of a connection that is written to in one turn.
    for (let sent = 0; sent < blockedBytes; sent += 64 * 1024) {
      stream.write(Buffer.alloc(64 * 1024));
      await new Promise(setImmediate);
    }
    if (how === "killed") await peer.kill();
    await expect.poll(openSockets, { timeout: 20_000 }).toBe(0);
    await expect.poll(() => isClosed).toBe(true);
  },
  60_000,
);

it("shuts down while responses to an Envoy that is stopped are written", async () => {
  let push: () => void = () => undefined;
  const isStopped = new Promise<void>((resolve) => (push = resolve));
  const istiod = await FakeIstiod.start({
    async *deltaAggregatedResources() {
      yield { typeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster", nonce: "1" };
      await isStopped;
      for (let sent = 0; sent < blockedBytes; sent += 64 * 1024)
        yield {
          typeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster",
          nonce: "2",
          resources: [{ name: "a", version: "x".repeat(64 * 1024) }],
        };
      await new Promise(() => undefined);
    },
  });
  const directory = await scratch();
  await put(join(directory, "root.pem"), istiod.root);
  await put(join(directory, "token"), TOKEN);
  const socket = join(directory, "XDS");
  let responses = 0;
  const xdsProxy = new XdsProxy({
    socket,
    upstream: {
      address: `127.0.0.1:${istiod.port}`,
      tls: { rootFile: join(directory, "root.pem") },
      token: fileToken(join(directory, "token")),
      clusterId: "Kubernetes",
    },
    events: { response: () => responses++ },
  });
  await xdsProxy.start();
  const envoy = startPeer(envoyProgram, {
    socket,
    path,
    message: Buffer.from(encodeFrame(new Uint8Array(0))).toString("base64"),
  });
  await envoy.line();
  envoy.stop();
  push();
  // The agent stops reading from istiod when its writes to Envoy are blocked.
  for (let before = 0; responses < 3 || responses > before; await new Promise((resolve) => setTimeout(resolve, 200)))
    before = responses;
  await xdsProxy.close();
}, 60_000);
