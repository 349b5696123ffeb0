import { generateKeyPairSync, sign } from "node:crypto";
import type { ClientHttp2Session } from "node:http2";

const path = "/istio.v1.auth.IstioCertificateService/CreateCertificate";

/** A certificate request of one of the callers in these attacks. */
export interface CertificateCall {
  /** Default: no credentials. */
  readonly token?: string;
  /** Bytes of the body. */
  readonly body: Buffer;
  /** Leaves the body unfinished. Default false. */
  readonly unfinished?: boolean;
}

/** Sends a request. Resolves with its gRPC status, or `none` if the connection ends first. */
export function requestCertificate(session: ClientHttp2Session, call: CertificateCall): Promise<string> {
  return new Promise((resolve) => {
    let status = "none";
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      ...(call.token !== undefined && { authorization: `Bearer ${call.token}` }),
    });
    const note = (headers: { readonly "grpc-status"?: unknown }): void => {
      if (headers["grpc-status"] !== undefined) status = String(headers["grpc-status"]);
    };
    stream
      .on("response", note)
      .on("trailers", note)
      .on("error", () => undefined);
    stream.once("close", () => resolve(status)).resume();
    if (call.unfinished) stream.write(call.body);
    else stream.end(call.body);
  });
}

/** Returns the frame of a valid request. */
export function validRequest(): Buffer {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = publicKey.export({ type: "spki", format: "der" });
  const info = element(0x30, Buffer.of(2, 1, 0, 0x30, 0), key, Buffer.of(0xa0, 0));
  const algorithm = Buffer.from("300a06082a8648ce3d040302", "hex");
  const der = element(0x30, info, algorithm, element(3, Buffer.of(0), sign("sha256", info, privateKey)));
  const begin = "-----BEGIN CERTIFICATE REQUEST-----";
  const pem = Buffer.from(`${begin}\n${der.toString("base64")}\n${begin.replace("BEGIN", "END")}\n`);
  // Field 1, a string whose length is a varint of two bytes.
  const message = Buffer.concat([Buffer.of(0x0a, (pem.length & 0x7f) | 0x80, pem.length >> 7), pem]);
  return frame(message.length, message);
}

/** Returns a gRPC frame that announces a message of a length. */
export function frame(length: number, message: Buffer): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, message]);
}

function element(tag: number, ...contents: readonly Buffer[]): Buffer {
  const body = Buffer.concat(contents);
  return Buffer.concat([Buffer.of(tag), lengthOctets(body.length), body]);
}

function lengthOctets(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  return length < 0x100 ? Buffer.of(0x81, length) : Buffer.of(0x82, length >> 8, length & 0xff);
}
