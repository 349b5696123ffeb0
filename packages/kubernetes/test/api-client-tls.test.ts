import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { type ClusterAccess, createApiClient } from "@istiod/kubernetes";
import { afterAll, beforeAll, expect, test } from "vitest";

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
