import type { IncomingHttpHeaders } from "node:http";
import type { Seen } from "../mesh/application.js";

/** What runs in a pod. */
export interface PodSettings {
  readonly name: string;
  readonly version: string;
  /** Ports that answer with what they were asked. */
  readonly httpPorts: readonly number[];
  /** Ports that give back what they are sent. */
  readonly tcpPorts: readonly number[];
}

/** What a pod is to do. */
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

/** What came of it; fields by kind, or an error. */
export interface PodAnswer {
  readonly error?: string;
  readonly status?: number;
  readonly headers?: IncomingHttpHeaders;
  readonly text?: string;
  readonly seen?: Seen | undefined;
  readonly addresses?: readonly string[];
}
