import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { ApiError, type ClusterAccess, createApiClient } from "@istiod/kubernetes";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

const directory = mkdtempSync(join(tmpdir(), "api-client-tls-"));
const certificate = join(directory, "cert.pem");
const key = join(directory, "key.pem");

/** Answers with the common name of the client's certificate. */
const server = createServer({ requestCert: true, rejectUnauthorized: false }, (request, response) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ client: (request.socket as TLSSocket).getPeerCertificate().subject?.CN ?? "none" }));
});

beforeAll(async () => {
  const subject = ["-subj", "/CN=kube", "-addext", "subjectAltName=DNS:kube"];
  const output = ["-keyout", key, "-out", certificate, "-days", "2"];
  const type = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  execFileSync("openssl", ["req", "-x509", ...type, ...output, ...subject], { stdio: "ignore" });
  server.setSecureContext({ cert: readFileSync(certificate), key: readFileSync(key) });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(directory, { recursive: true });
});

async function get(cluster: Partial<ClusterAccess["cluster"]>, user?: ClusterAccess["user"]): Promise<unknown> {
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createApiClient({ cluster: { name: "test", server: url, skipTLSVerify: false, ...cluster }, user });
  try {
    return await client.json({ path: "/x" });
  } finally {
    client.close();
  }
}

test("the certificate is verified by the CA and the TLS server name", async () => {
  expect(await get({ caFile: certificate, tlsServerName: "kube" })).toEqual({ client: "none" });
  await expect(get({ caFile: certificate })).rejects.toMatchObject({
    code: "network",
    message: expect.stringContaining("does not match certificate's altnames"),
  });
  await expect(get({ tlsServerName: "kube" })).rejects.toMatchObject({
    code: "network",
    message: expect.stringContaining("self-signed certificate"),
  });
  expect(await get({ skipTLSVerify: true })).toEqual({ client: "none" });
});

test("beforeSend is called when the connection is open, and nothing is sent if it throws", async () => {
  const sockets: Socket[] = [];
  let onSocket = (): void => undefined;
  const handshake = new Promise<void>((resolve) => (onSocket = resolve));
  const gate = createTcpServer((socket) => {
    sockets.push(socket);
    // The first message of the handshake: the client's connection is open.
    socket.once("readable", () => onSocket());
  });
  await new Promise<void>((resolve) => gate.listen(0, "127.0.0.1", resolve));
  const url = `https://127.0.0.1:${(gate.address() as AddressInfo).port}`;
  const client = createApiClient({ cluster: { name: "test", server: url, skipTLSVerify: true } });
  onTestFinished(() => {
    client.close();
    gate.close();
  });
  let requests = 0;
  const count = (): number => requests++;
  server.on("request", count);
  onTestFinished(() => void server.off("request", count));
  let isLost = false;
  let calls = 0;
  const beforeSend = (): void => {
    calls++;
    if (isLost) throw new ApiError("fenced", "lost");
  };
  const sent = client.json({ method: "PUT", path: "/x", body: "{}", beforeSend });
  await handshake;
  expect(calls).toBe(0);
  const [socket] = sockets;
  socket!.pipe(connect((server.address() as AddressInfo).port, "127.0.0.1")).pipe(socket!);
  expect(await sent).toEqual({ client: "none" });
  isLost = true;
  // On the same connection, which is open already.
  await expect(client.json({ method: "PUT", path: "/x", body: "{}", beforeSend })).rejects.toMatchObject({
    code: "fenced",
    message: "lost",
  });
  expect([calls, requests]).toEqual([2, 1]);
});

test("the client presents its certificate from files or data", async () => {
  const cluster = { caData: readFileSync(certificate).toString("base64"), tlsServerName: "kube" };
  const data = {
    certData: readFileSync(certificate).toString("base64"),
    keyData: readFileSync(key).toString("base64"),
  };
  expect(await get(cluster, { name: "test", ...data })).toEqual({ client: "kube" });
  expect(await get(cluster, { name: "test", certFile: certificate, keyFile: key })).toEqual({ client: "kube" });
  await expect(get(cluster, { name: "test", certFile: "/absent.pem", keyFile: key })).rejects.toMatchObject({
    code: "configuration",
    message: "client-certificate /absent.pem: ENOENT",
  });
});
