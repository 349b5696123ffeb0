import type { IncomingHttpHeaders } from "node:http";
import type { Seen } from "../mesh/application.js";

/** Settings of the application in a pod. */
export interface PodSettings {
  readonly name: string;
  readonly version: string;
  /** Ports that serve HTTP, responding with the request. */
  readonly httpPorts: readonly number[];
  /** Ports that serve HTTP/2 without TLS to clients with prior knowledge. */
  readonly http2Ports: readonly number[];
  /** Ports that echo TCP. */
  readonly tcpPorts: readonly number[];
  /** Ports that answer with their number over TCP, and over UDP on loopback. */
  readonly numberedPorts?: readonly number[];
  /** Ports that echo what comes over TLS. */
  readonly tlsPorts: readonly number[];
  /** The certificate of `tlsPorts`, PEM. */
  readonly certificate?: { readonly key: string; readonly cert: string };
  /** The user and group of the process. Default: 65534, which is not that of a proxy. */
  readonly user?: number;
}

/** A request to send from a pod. */
export type PodOrder = { readonly id: number } & (
  | {
      readonly kind: "http";
      readonly host: string;
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: "http2";
      readonly host: string;
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    }
  | { readonly kind: "tcp" | "udp"; readonly host: string; readonly port: number; readonly text: string }
  | {
      readonly kind: "tls";
      readonly host: string;
      readonly port: number;
      readonly text: string;
      /** The roots by which the server is verified, PEM. */
      readonly roots: string;
      readonly serverName: string;
    }
  | { readonly kind: "dns"; readonly server: string; readonly name: string }
);

/** The result of an order: fields by kind, or an error. */
export interface PodAnswer {
  readonly error?: string;
  readonly status?: number;
  readonly headers?: IncomingHttpHeaders;
  readonly text?: string;
  readonly seen?: Seen | undefined;
  readonly addresses?: readonly string[];
}
