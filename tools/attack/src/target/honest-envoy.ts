import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
} from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { encodeFrame, FrameReader } from "@istiod/protobuf-wire";
import { clusterType, listenerType } from "@istiod/xds-server";

/** Opens an HTTP/2 connection to a Unix socket. */
export function openSocket(path: string): ClientHttp2Session {
  return connectHttp2("http://agent", { createConnection: () => connect(path) }).on("error", () => undefined);
}

/** Opens a stream of a gRPC method. */
export function openStream(session: ClientHttp2Session, path: string): ClientHttp2Stream {
  const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
  return session.request(headers).on("error", () => undefined);
}

/** Envoy's side of a delta stream: subscribes to clusters and listeners, and acknowledges every response. */
export class HonestEnvoy {
  readonly #session: ClientHttp2Session;
  readonly #stream: ClientHttp2Stream;
  #clusterResponses = 0;
  #isClosed = false;

  constructor(socket: string, id: string) {
    this.#session = openSocket(socket);
    this.#stream = openStream(
      this.#session,
      "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources",
    );
    const reader = new FrameReader();
    this.#stream.on("close", () => (this.#isClosed = true));
    this.#stream.on("data", (bytes: Buffer) => {
      for (const { message } of reader.push(bytes)) this.#received(message);
    });
    const metadata = { NAMESPACE: "ns-0", CLUSTER_ID: "Kubernetes", DNS_CAPTURE: "true" };
    this.#send({ node: { id, metadata }, typeUrl: clusterType, resourceNamesSubscribe: ["*"] });
    this.#send({ typeUrl: listenerType, resourceNamesSubscribe: ["*"] });
  }

  /** The number of responses with clusters. */
  get clusterResponses(): number {
    return this.#clusterResponses;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  close(): void {
    this.#session.destroy();
  }

  #received(message: Buffer): void {
    const { typeUrl, nonce } = fromBinary(DeltaDiscoveryResponseSchema, message);
    if (typeUrl === clusterType) this.#clusterResponses++;
    this.#send({ typeUrl, responseNonce: nonce });
  }

  #send(request: MessageInitShape<typeof DeltaDiscoveryRequestSchema>): void {
    const message = create(DeltaDiscoveryRequestSchema, request);
    if (!this.#stream.destroyed) this.#stream.write(encodeFrame(toBinary(DeltaDiscoveryRequestSchema, message)));
  }
}
