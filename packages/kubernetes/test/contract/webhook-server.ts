import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Loose } from "./http.js";

export interface WebhookServer {
  readonly url: string;
  readonly port: number;
  /** Base64 of the PEM certificate that clients trust. Undefined without TLS. */
  readonly caBundle: string | undefined;
  /** Requests of the AdmissionReviews so far. */
  readonly requests: Loose[];
  stop(): void;
}

/**
 * Starts a webhook. Real API servers call webhooks by TLS only, for which openssl makes a certificate.
 *
 * @param name Name in the certificate, in addition to the address.
 */
export async function startWebhook(
  withTls: boolean,
  respond: (request: Loose) => object,
  name = "localhost",
): Promise<WebhookServer> {
  const requests: Loose[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { request: reviewed } = JSON.parse(Buffer.concat(chunks).toString()) as Loose;
    requests.push(reviewed);
    const review = { uid: reviewed.uid, ...respond(reviewed) };
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", response: review }));
  };
  const listener = (request: IncomingMessage, response: ServerResponse): void => void answer(request, response);
  const pair = withTls ? selfSigned(name) : undefined;
  const server = pair === undefined ? createHttpServer(listener) : createHttpsServer(pair, listener);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `${withTls ? "https" : "http"}://127.0.0.1:${port}`,
    caBundle: pair === undefined ? undefined : Buffer.from(pair.cert).toString("base64"),
    requests,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function selfSigned(name: string): { readonly key: string; readonly cert: string } {
  const directory = mkdtempSync(join(tmpdir(), "webhook-"));
  try {
    const [key, cert] = [join(directory, "key"), join(directory, "cert")];
    const subject = ["-subj", "/CN=127.0.0.1", "-addext", `subjectAltName=IP:127.0.0.1,DNS:${name}`];
    const options = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"];
    execFileSync("openssl", ["req", "-x509", ...options, ...subject, "-keyout", key, "-out", cert], {
      stdio: "ignore",
    });
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
