import { type ClientHttp2Session, connect, type SecureClientSessionOptions } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { IstioCertificateRequestSchema } from "@istiod/istio-api/security/v1alpha1/ca";
import { encodeFrame } from "@istiod/protobuf-wire";
import type { Address } from "@istiod/xds-server/testing";

const path = "/istio.v1.auth.IstioCertificateService/CreateCertificate";
const timeoutMs = 120_000;

/** Opens a connection to a CA. Errors of it fail the requests on it. */
export function connectCa({ host, port, tls, localAddress }: Address): ClientHttp2Session {
  const options: SecureClientSessionOptions & { readonly localAddress?: string | undefined } = { ...tls, localAddress };
  const session = connect(`${tls === undefined ? "http" : "https"}://${host}:${port}`, options);
  return session.on("error", () => undefined);
}

/** Returns the frame of a request for a certificate. */
export function certificateRequest(csr: string): Uint8Array {
  return encodeFrame(toBinary(IstioCertificateRequestSchema, create(IstioCertificateRequestSchema, { csr })));
}

/** Requests a certificate. @throws Error with the gRPC status if none is issued */
export function requestCertificate(session: ClientHttp2Session, frame: Uint8Array, token: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let failure = "the connection ended without an answer";
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      authorization: `Bearer ${token}`,
    });
    const note = (fields: { readonly "grpc-status"?: unknown; readonly "grpc-message"?: unknown }): void => {
      const { "grpc-status": status, "grpc-message": message } = fields;
      if (status !== undefined)
        failure = status === "0" ? "" : `gRPC status ${String(status)}: ${decodeURIComponent(String(message))}`;
    };
    stream.setTimeout(timeoutMs, () => stream.destroy(new Error(`no answer within ${timeoutMs} ms`)));
    stream.on("response", note).on("trailers", note);
    stream.on("error", ({ message }) => (failure = message));
    stream.once("close", () => (failure === "" ? resolve() : reject(new Error(failure)))).resume();
    stream.end(frame);
  });
}
