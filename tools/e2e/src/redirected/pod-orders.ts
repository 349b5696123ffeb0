import type { IncomingHttpHeaders } from "node:http";
import type { Seen } from "../mesh/application.js";

/** Settings of the application in a pod. */
export interface PodSettings {
  readonly name: string;
  readonly version: string;
  /** Ports that serve HTTP, responding with the request. */
  readonly httpPorts: readonly number[];
  /** Ports that echo TCP. */
  readonly tcpPorts: readonly number[];
}

/** A request to send from a pod. */
export type PodOrder = { readonly id: number } & (
  | {
      readonly kind: "http";
      readonly host: string;
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly text: string }
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
