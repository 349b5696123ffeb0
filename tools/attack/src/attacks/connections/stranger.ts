import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import type { Address } from "@istiod/xds-server/testing";

const adsPath = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";

/** Connects from the attacker's address. */
export function connectStranger({ host, port, localAddress }: Address): Socket {
  return connectTcp({ host, port, localAddress }).on("error", () => undefined);
}

/** Opens an HTTP/2 connection in plaintext from the attacker's address. */
export function openSession(address: Address): ClientHttp2Session {
  return connectHttp2(`http://${address.host}:${address.port}`, {
    createConnection: () => connectStranger(address),
  }).on("error", () => undefined);
}

/** Opens an ADS stream, and calls back with its gRPC status or the HTTP/2 error when it ends. */
export function openAds(session: ClientHttp2Session, ended: (status: string) => void): ClientHttp2Stream {
  const stream = session.request({
    ":method": "POST",
    ":path": adsPath,
    "content-type": "application/grpc",
    te: "trailers",
  });
  let status: string | undefined;
  const read = (fields: Readonly<Record<string, unknown>>): void => {
    if (fields["grpc-status"] !== undefined) status = `grpc-status ${String(fields["grpc-status"])}`;
  };
  stream.on("error", () => undefined);
  stream.on("response", read).on("trailers", read);
  stream.on("close", () => ended(status ?? `HTTP/2 error ${stream.rstCode}`));
  return stream.resume();
}

/** Counts outcomes, and formats them. */
export class Outcomes {
  readonly #counts = new Map<string, number>();

  add(outcome: string): void {
    this.#counts.set(outcome, (this.#counts.get(outcome) ?? 0) + 1);
  }

  has(outcome: string): boolean {
    return this.#counts.has(outcome);
  }

  toString(): string {
    return [...this.#counts].map(([outcome, count]) => `${count} × ${outcome}`).join("; ") || "none";
  }
}
