import type { IncomingHttpHeaders } from "node:http";
import { reasonOf } from "@istiod/runtime";
import { AgentError } from "../errors.js";
import { LimitedLog } from "@istiod/logging";
import type { Log } from "../log.js";
import { probeGrpc } from "./grpc-probe.js";
import { type HttpResponse, probeHttp } from "./http-probe.js";
import { probeTcp } from "./probe.js";

/** A container's probe, which the injector moved from the pod spec to the agent. */
interface AppProbe {
  readonly httpGet?: { readonly path?: string; readonly port: number; readonly scheme?: string };
  readonly tcpSocket?: { readonly port: number };
  readonly grpc?: { readonly port: number; readonly service?: string };
  readonly timeoutSeconds?: number;
}

export interface AppProbesOptions {
  /** Value of ISTIO_KUBE_APP_PROBERS: probes by path, in JSON. */
  readonly text: string;
  readonly host: string;
  /** The status server's port. In Host headers it is replaced by the application's. */
  readonly statusPort: number;
  readonly localAddress?: string;
  /** Offers HTTP/2 in probes over HTTPS. Default: true. */
  readonly offersHttp2?: boolean;
  readonly log: Log;
}

/** Runs the probe of a path; `undefined` if the path is not a probe's. */
export type AppProbes = (path: string, headers: IncomingHttpHeaders) => Promise<HttpResponse> | undefined;

/** Headers of the connection and of the framing of the kubelet's request (RFC 9110 §7.6.1). */
const NOT_FORWARDED: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

const PATH = /^\/(app-health|app-lifecycle)\/[^/]+\/(livez|readyz|startupz|prestopz|poststartz)$/;

/**
 * Parses the application's probes. The kubelet sends them to the agent, because it has no certificate for mutual TLS.
 *
 * @throws AgentError `option`
 */
export function appProbes({ text, host, statusPort, localAddress, offersHttp2, log }: AppProbesOptions): AppProbes {
  const probes = text === "" ? {} : readProbes(text);
  const limited = new LimitedLog(log);
  const source = localAddress === undefined ? {} : { localAddress };
  const run = async (probe: AppProbe, headers: IncomingHttpHeaders): Promise<HttpResponse> => {
    const timeout = (probe.timeoutSeconds || 1) * 1000;
    if (probe.httpGet) {
      const { path = "/", port, scheme } = probe.httpGet;
      const { host: named = "" } = headers;
      const passed = Object.fromEntries(Object.entries(headers).filter(([name]) => !NOT_FORWARDED.has(name)));
      const hostHeader = named.endsWith(`:${statusPort}`) ? named.replace(/\d+$/, String(port)) : named;
      const forward = hostHeader === "" ? passed : { ...passed, host: hostHeader };
      const version = offersHttp2 === undefined ? {} : { offersHttp2 };
      const target = { host, port, path, https: scheme === "HTTPS", ...version };
      return probeHttp({ ...target, headers: forward, timeout, ...source });
    }
    if (probe.tcpSocket) await probeTcp({ host, port: probe.tcpSocket.port, timeout, ...source });
    if (probe.grpc)
      await probeGrpc({ host, port: probe.grpc.port, service: probe.grpc.service ?? "", timeout, ...source });
    return { status: 200, body: "" };
  };
  return (path, headers) => {
    const probe = Object.hasOwn(probes, path) ? probes[path] : undefined;
    if (probe) {
      return run(probe, headers).catch((error: unknown) => {
        limited.write("warn", `probe ${path}: ${reasonOf(error)}`);
        return { status: 500, body: "" };
      });
    }
    return /^\/app-(health|lifecycle)\//.test(path)
      ? Promise.resolve({ status: 400, body: `no probe is configured for ${path}\n` })
      : undefined;
  };
}

function readProbes(text: string): Readonly<Record<string, AppProbe>> {
  const reject = (reason: string): never => {
    throw new AgentError("option", `ISTIO_KUBE_APP_PROBERS: ${reason}`);
  };
  let probes: Record<string, AppProbe>;
  try {
    probes = JSON.parse(text) as Record<string, AppProbe>;
  } catch {
    return reject("must be JSON");
  }
  for (const [path, probe] of Object.entries(probes)) {
    if (!PATH.test(path)) reject(`${JSON.stringify(path)} must be /app-health/<container>/livez, readyz or startupz`);
    const kinds = [probe.httpGet, probe.tcpSocket, probe.grpc].filter((kind) => kind !== undefined);
    if (kinds.length !== 1) reject(`${path}: must have exactly one of httpGet, tcpSocket and grpc`);
    if (!kinds.every(({ port }) => Number.isInteger(port) && port > 0 && port < 65536))
      reject(`${path}: port must be a number from 1 to 65535`);
  }
  return probes;
}
