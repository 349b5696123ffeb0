import type { IncomingHttpHeaders } from "node:http";
import { AgentError, reasonOf } from "../errors.js";
import type { Log } from "../log.js";
import { type HttpAnswer, probeGrpc, probeHttp, probeTcp } from "./probe.js";

/** A container's probe as injection moved it here from the pod's specification. */
interface AppProbe {
  readonly httpGet?: { readonly path?: string; readonly port: number; readonly scheme?: string };
  readonly tcpSocket?: { readonly port: number };
  readonly grpc?: { readonly port: number; readonly service?: string };
  readonly timeoutSeconds?: number;
}

export interface AppProbesOptions {
  /** ISTIO_KUBE_APP_PROBERS: probes by path, in JSON. */
  readonly text: string;
  readonly host: string;
  /** The agent's own port; a Host header that names it gets the application's in its place. */
  readonly statusPort: number;
  readonly localAddress?: string;
  readonly log: Log;
}

/** Answers one path; `undefined` where the path is none of a probe. */
export type AppProbes = (path: string, headers: IncomingHttpHeaders) => Promise<HttpAnswer> | undefined;

const PATH = /^\/(app-health|app-lifecycle)\/[^/]+\/(livez|readyz|startupz|prestopz|poststartz)$/;

/**
 * A kubelet's probes of the application, which it sends to the agent because mutual TLS would refuse them. @throws
 * AgentError `option`
 */
export function appProbes({ text, host, statusPort, localAddress, log }: AppProbesOptions): AppProbes {
  const probes = text === "" ? {} : readProbes(text);
  const from = localAddress === undefined ? {} : { localAddress };
  const run = async (probe: AppProbe, headers: IncomingHttpHeaders): Promise<HttpAnswer> => {
    const timeout = (probe.timeoutSeconds || 1) * 1000;
    if (probe.httpGet) {
      const { path = "/", port, scheme } = probe.httpGet;
      const { connection: _, host: named = "", ...passed } = headers;
      const hostHeader = named.endsWith(`:${statusPort}`) ? named.replace(/\d+$/, String(port)) : named;
      const forward = hostHeader === "" ? passed : { ...passed, host: hostHeader };
      return probeHttp({ host, port, path, https: scheme === "HTTPS", headers: forward, timeout, ...from });
    }
    if (probe.tcpSocket) await probeTcp({ host, port: probe.tcpSocket.port, timeout, ...from });
    if (probe.grpc)
      await probeGrpc({ host, port: probe.grpc.port, service: probe.grpc.service ?? "", timeout, ...from });
    return { status: 200, body: "" };
  };
  return (path, headers) => {
    const probe = probes[path];
    if (probe) {
      return run(probe, headers).catch((error: unknown) => {
        log.warn(`probe ${path}: ${reasonOf(error)}`);
        return { status: 500, body: "" };
      });
    }
    return /^\/app-(health|lifecycle)\//.test(path)
      ? Promise.resolve({ status: 400, body: `no probe is configured for ${path}\n` })
      : undefined;
  };
}

function readProbes(text: string): Readonly<Record<string, AppProbe>> {
  const refuse = (reason: string): never => {
    throw new AgentError("option", `ISTIO_KUBE_APP_PROBERS: ${reason}`);
  };
  let probes: Record<string, AppProbe>;
  try {
    probes = JSON.parse(text) as Record<string, AppProbe>;
  } catch {
    return refuse("it is not JSON");
  }
  for (const [path, probe] of Object.entries(probes)) {
    if (!PATH.test(path))
      refuse(`${JSON.stringify(path)} is not of the form /app-health/<container>/livez, readyz or startupz`);
    const kinds = [probe.httpGet, probe.tcpSocket, probe.grpc].filter((kind) => kind !== undefined);
    if (kinds.length !== 1) refuse(`${path}: exactly one of httpGet, tcpSocket and grpc is expected`);
    if (!kinds.every(({ port }) => Number.isInteger(port) && port > 0 && port < 65536))
      refuse(`${path}: a port number is expected`);
  }
  return probes;
}
