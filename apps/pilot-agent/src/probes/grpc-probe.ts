import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { encodeFrame, encodeStringField, FieldReader, FrameReader } from "@istiod/protobuf-wire";
import type { ProbeTarget } from "./probe.js";

export interface GrpcProbe extends ProbeTarget {
  /** Name of the service in the request. */
  readonly service: string;
}

/** Maximum size of a response in bytes. A HealthCheckResponse has a single enum field. */
const MAX_RESPONSE_BYTES = 4096;
const MAX_SESSION_MEGABYTES = 1;
/** `HealthCheckRequest.service` and `HealthCheckResponse.status` */
const FIELD = 1;
/** `HealthCheckResponse.ServingStatus.SERVING` */
const SERVING = 1;

/** Calls `grpc.health.v1.Health/Check`. Rejects unless the status is SERVING. */
export async function probeGrpc({ host, port, timeout, localAddress, service }: GrpcProbe): Promise<void> {
  const socket = connect({ host, port, ...(localAddress ? { localAddress } : {}) });
  const authority = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const session = connectHttp2(`http://${authority}`, {
    createConnection: () => socket,
    maxSessionMemory: MAX_SESSION_MEGABYTES,
    settings: { enablePush: false },
  });
  const timer = setTimeout(() => session.destroy(new Error(`no response within ${timeout / 1000}s`)), timeout);
  try {
    const { status, body } = await callHealth(session, service);
    if (status !== "0") throw new Error(`gRPC status ${String(status)}`);
    const health = servingStatus(body);
    if (health !== SERVING) throw new Error(`health status ${health}, expected ${SERVING} (SERVING)`);
  } finally {
    clearTimeout(timer);
    session.destroy();
  }
}

interface GrpcResponse {
  /** Value of `grpc-status`, from the headers or trailers. */
  readonly status: unknown;
  readonly body: Buffer;
}

function callHealth(session: ClientHttp2Session, service: string): Promise<GrpcResponse> {
  return new Promise((resolve, reject) => {
    session.on("error", reject);
    const stream = session.request({
      ":method": "POST",
      ":path": "/grpc.health.v1.Health/Check",
      "content-type": "application/grpc",
      te: "trailers",
    });
    const chunks: Buffer[] = [];
    let size = 0;
    let status: unknown;
    stream.on("error", reject);
    stream.on("response", (headers) => (status = headers["grpc-status"]));
    stream.on("trailers", (trailers) => (status = trailers["grpc-status"]));
    stream.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_RESPONSE_BYTES) reject(new Error(`response larger than ${MAX_RESPONSE_BYTES} bytes`));
      else chunks.push(chunk);
    });
    stream.on("close", () => reject(new Error("stream closed before the end of the response")));
    session.on("close", () => reject(new Error("connection closed before the end of the response")));
    stream.on("end", () => resolve({ status, body: Buffer.concat(chunks) }));
    stream.end(encodeFrame(encodeStringField(FIELD, service)));
  });
}

/** Returns the status of the last response message; 0 (UNKNOWN) if there is none. */
function servingStatus(body: Buffer): number {
  let status = 0;
  for (const { message } of new FrameReader().push(body)) {
    status = 0;
    const fields = new FieldReader(message);
    while (fields.next()) if (fields.field === FIELD) status = fields.value;
  }
  return status;
}
