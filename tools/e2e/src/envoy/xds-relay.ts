import {
  connect,
  createServer,
  type ClientHttp2Session,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { fromBinary } from "@bufbuild/protobuf";
import { FrameReader } from "@istiod/protobuf-wire";
import {
  type DeltaDiscoveryRequest,
  DeltaDiscoveryRequestSchema,
  type DeltaDiscoveryResponse,
  DeltaDiscoveryResponseSchema,
} from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";

/** Options of a relay. */
export interface XdsRelayOptions {
  readonly host: string;
  /** Address of the server. */
  readonly to: { readonly host: string; readonly port: number };
  /** Decides whether to forward a response, drop it, or close the connection instead. */
  readonly fate: (response: DeltaDiscoveryResponse) => "pass" | "drop" | "cut";
}

/** A plaintext relay between a delta xDS client and its server that can close the connection at a chosen response. */
export interface XdsRelay {
  readonly host: string;
  readonly port: number;
  /** The requests of each stream, oldest first. */
  readonly streams: readonly (readonly DeltaDiscoveryRequest[])[];
  close(): Promise<void>;
}

/** Starts a relay on a free port. */
export async function startXdsRelay({ host, to, fate }: XdsRelayOptions): Promise<XdsRelay> {
  const streams: DeltaDiscoveryRequest[][] = [];
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    session.on("error", () => undefined);
  });
  server.on("stream", (down: ServerHttp2Stream, headers) => {
    const requests: DeltaDiscoveryRequest[] = [];
    streams.push(requests);
    const session: ClientHttp2Session = connect(`http://${to.host}:${to.port}`);
    const cut = (): void => {
      session.destroy();
      down.session?.destroy();
    };
    session.on("error", cut);
    const up = session.request({
      ":method": "POST",
      ":path": headers[":path"] ?? "",
      "content-type": "application/grpc",
      te: "trailers",
    });
    up.on("response", (given) =>
      down.respond({ ":status": given[":status"] ?? 200, "content-type": "application/grpc" }),
    );
    up.on("error", cut);
    up.on("close", cut);
    down.on("error", () => session.destroy());
    down.on("close", () => session.destroy());
    const responses = new FrameReader();
    up.on("data", (chunk: Buffer) => {
      for (const { bytes, message } of responses.push(chunk)) {
        const decided = fate(fromBinary(DeltaDiscoveryResponseSchema, message));
        if (decided === "cut") return cut();
        if (decided === "pass" && !down.destroyed) down.write(bytes);
      }
    });
    const asked = new FrameReader();
    down.on("data", (chunk: Buffer) => {
      for (const { message } of asked.push(chunk)) requests.push(fromBinary(DeltaDiscoveryRequestSchema, message));
      up.write(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    host,
    port: (server.address() as AddressInfo).port,
    streams,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}
