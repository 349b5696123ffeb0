import { Agent as PlainAgent, request as plainRequest } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Callers } from "./callers.js";
import { ports } from "./case-mesh.js";
import type { RandomRequest } from "./cases.js";

/** Envoy's answer to a request, with what its filters saw. */
export interface EnvoyAnswer {
  readonly status: number;
  readonly path: string;
  readonly details: string;
  /** Dynamic metadata of the RBAC filters. */
  readonly rbac: Readonly<Record<string, string>>;
}

/** Bounds the wait for an answer, generously for loaded machines. */
const timeoutMs = Number(process.env["ASK_TIMEOUT"] ?? 30_000);

/** Sends a random request to the workload at an address. */
export class EnvoyAsker {
  readonly #agents = new Map<string, PlainAgent | TlsAgent>();

  constructor(readonly callers: Callers) {}

  ask(address: string, n: number, request: RandomRequest): Promise<EnvoyAnswer> {
    const { method, path, host, headers, token } = request;
    const bearer = token === undefined ? [] : [["authorization", `Bearer ${this.callers.tokens[token]}`] as const];
    const all = [["host", host], ["x-case", String(n)], ...headers, ...bearer] as const;
    const options = { host: address, port: ports.http, method, path, headers: all.flat() as never };
    return new Promise((resolve, reject) => {
      const agent = this.#agent(request);
      const sent =
        agent instanceof TlsAgent
          ? tlsRequest({ ...options, agent, ...this.#tls(request) })
          : plainRequest({ ...options, agent, localAddress: this.#local(request) });
      sent.setTimeout(timeoutMs, () => sent.destroy(new Error(`no answer to ${JSON.stringify(request)}`)));
      sent.once("error", reject).once("response", (response) => {
        const header = (name: string): string => String(response.headers[name] ?? "");
        response.resume().once("end", () => {
          const rbac = header("x-seen-rbac");
          resolve({
            status: response.statusCode ?? 0,
            path: header("x-seen-path"),
            details: header("x-seen-details"),
            rbac: rbac.startsWith("{") ? (JSON.parse(rbac) as Record<string, string>) : {},
          });
        });
      });
      sent.end();
    });
  }

  /** Reports whether a TCP connection to the workload is allowed: whether its bytes come back. */
  connects(address: string, request: RandomRequest): Promise<boolean> {
    const options = { host: address, port: ports.tcp, localAddress: this.#local(request) };
    return new Promise((resolve, reject) => {
      const socket =
        request.identity === undefined ? connect(options) : connectTls({ ...options, ...this.#tls(request) });
      const settle = (answer: boolean): void => {
        socket.destroy();
        resolve(answer);
      };
      socket
        .once("data", () => settle(true))
        .once("close", () => settle(false))
        .once("error", () => settle(false))
        .setTimeout(timeoutMs, () => reject(new Error(`neither bytes nor an end for ${JSON.stringify(request)}`)));
      // The TLS inspector waits for the length of a record's header.
      const ready = request.identity === undefined ? "connect" : "secureConnect";
      socket.once(ready, () => socket.write("sixteen bytes..."));
    });
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
  }

  #local({ source }: RandomRequest): string {
    return this.callers.addresses[source]!;
  }

  #tls(request: RandomRequest) {
    const { key, cert } = this.callers.identities[request.identity ?? 0]!;
    const verify = { ca: this.callers.root, checkServerIdentity: () => undefined };
    return { key, cert, servername: request.sni, localAddress: this.#local(request), ...verify };
  }

  /** Connections are kept, for each identity, address and server name. */
  #agent(request: RandomRequest): PlainAgent | TlsAgent {
    const { identity, source, sni } = request;
    const key = identity === undefined ? `plain ${source}` : `${identity} ${source} ${sni}`;
    const known = this.#agents.get(key);
    if (known !== undefined) return known;
    const agent = identity === undefined ? new PlainAgent({ keepAlive: true }) : new TlsAgent({ keepAlive: true });
    this.#agents.set(key, agent);
    return agent;
  }
}
