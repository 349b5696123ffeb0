import { setTimeout as sleep } from "node:timers/promises";
import { probeGrpc, probeHttp, probeTcp } from "@istiod/pilot-agent/probes";
import type { Action, Container } from "../kube/objects.js";
import { runCommand } from "../network/commands.js";
import type { ContainerProcess } from "./launch.js";

export interface ActionTarget {
  readonly container: Container;
  readonly process: ContainerProcess;
  readonly podIP: string;
}

/**
 * Executes the action of a probe or of a lifecycle hook, as the kubelet does.
 *
 * @throws Error with the reason if it fails
 */
export async function execute(action: Action, { container, process, podIP }: ActionTarget, timeout: number) {
  const { exec, httpGet, tcpSocket, grpc, sleep: pause } = action;
  if (exec) return void (await withTimeout(runCommand(await process.inside(exec.command)), timeout));
  if (httpGet) {
    const { path = "/", port, host = podIP, scheme = "HTTP", httpHeaders = [] } = httpGet;
    const headers: Record<string, string> = { "user-agent": "kube-probe/1.33", accept: "*/*" };
    for (const { name, value } of httpHeaders) headers[name.toLowerCase()] = value;
    const target = { host, port: portOf(port, container), timeout, path, https: scheme === "HTTPS", headers };
    const { status } = await probeHttp(target);
    if (status < 200 || status >= 400) throw new Error(`HTTP probe failed with statuscode: ${status}`);
    return;
  }
  if (tcpSocket) {
    const { port, host = podIP } = tcpSocket;
    return await probeTcp({ host, port: portOf(port, container), timeout });
  }
  if (grpc) return await probeGrpc({ host: podIP, port: grpc.port, timeout, service: grpc.service ?? "" });
  if (pause) return void (await sleep(pause.seconds * 1000));
  throw new Error("unsupported action");
}

/** @throws Error if the container has no port of that name */
function portOf(port: number | string, { ports = [], name }: Container): number {
  if (typeof port === "number") return port;
  const found = ports.find((candidate) => candidate.name === port)?.containerPort ?? Number(port);
  if (!Number.isInteger(found)) throw new Error(`container ${name}: no port named ${port}`);
  return found;
}

async function withTimeout<T>(operation: Promise<T>, timeout: number): Promise<T> {
  const done = new AbortController();
  const late = sleep(timeout, undefined, { signal: done.signal }).then(() => {
    throw new Error(`command timed out after ${timeout / 1000}s`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([operation, late]);
  } finally {
    done.abort();
  }
}
