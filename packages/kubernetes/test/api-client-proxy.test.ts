import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApiClient } from "@istiod/kubernetes";
import { afterEach, beforeEach, expect, test } from "vitest";

let directory: string;
let servers: Server[];
let tunnels: Set<Socket>;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "api-client-proxy-"));
  servers = [];
  tunnels = new Set();
});

afterEach(async () => {
  for (const socket of tunnels) socket.destroy();
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  rmSync(directory, { recursive: true });
});

async function listen(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Creates a self-signed certificate for 127.0.0.1. */
function certificate(): { readonly cert: string; readonly key: string } {
  const [cert, key] = [join(directory, "cert.pem"), join(directory, "key.pem")];
  const type = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  const subject = ["-subj", "/CN=kube", "-addext", "subjectAltName=IP:127.0.0.1"];
  execFileSync("openssl", ["req", "-x509", ...type, "-keyout", key, "-out", cert, ...subject], { stdio: "ignore" });
  return { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
}

/** Starts a proxy that opens tunnels, and counts them. */
async function startProxy(): Promise<{ readonly url: string; readonly targets: string[] }> {
  const targets: string[] = [];
  const proxy = createServer();
  proxy.on("connect", ({ url = "" }: IncomingMessage, client: Socket, head: Buffer) => {
    targets.push(url);
    const [host, port] = url.split(":");
    const target = connect(Number(port), host, () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      target.write(head);
      client.pipe(target).pipe(client);
    });
    for (const socket of [client, target]) {
      tunnels.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => tunnels.delete(socket));
    }
  });
  return { url: `http://${await listen(proxy)}`, targets };
}

const answer: RequestListener = (_, response) => {
  response.writeHead(200, { "content-type": "application/json" }).end("{}");
};

test.each(["http", "https"])("requests to an %s server share the connection through a proxy", async (scheme) => {
  const pair = scheme === "https" ? certificate() : undefined;
  const address = await listen(pair === undefined ? createServer(answer) : createTlsServer(pair, answer));
  const proxy = await startProxy();
  const ca = pair === undefined ? {} : { caData: Buffer.from(pair.cert).toString("base64") };
  const server = `${scheme}://${address}`;
  const client = createApiClient({
    cluster: { name: "test", server, skipTLSVerify: pair === undefined, proxyUrl: proxy.url, ...ca },
  });
  for (let request = 0; request < 3; request++) expect(await client.json({ path: "/x" })).toEqual({});
  expect(proxy.targets).toEqual([address]);
  client.close();
});

test("a proxy with a scheme that is not supported is named", async () => {
  const client = createApiClient({
    cluster: { name: "test", server: "https://127.0.0.1:1", skipTLSVerify: false, proxyUrl: "no url" },
  });
  await expect(client.json({ path: "/x" })).rejects.toMatchObject({
    code: "configuration",
    message: expect.stringContaining("cluster test: proxy-url: "),
  });
  client.close();
});
