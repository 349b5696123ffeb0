import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { type Duplex, PassThrough } from "node:stream";
import { KubeConfig, PortForward } from "@kubernetes/client-node";
import { onTestFinished } from "vitest";

/** A port of this machine that leads to one of a pod. */
export interface Forwarded {
  readonly port: number;
  /** Errors of connections, as the server sends them. */
  readonly errors: () => string;
}

/** Forwards a port of this machine to a port of a pod while a test runs, as `kubectl port-forward` does. */
export async function forward(kubeconfig: string, pod: string, port: number): Promise<Forwarded> {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  const errors = new PassThrough();
  let text = "";
  errors.setEncoding("utf8").on("data", (part: string) => (text += part));
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    // The library pipes what it is given, and a pipe ends its target once for each connection.
    const own = new PassThrough();
    own.pipe(errors, { end: false });
    new PortForward(config)
      .portForward("default", pod, [port], socket as Duplex, own, socket)
      .catch((error: unknown) => socket.destroy(error as Error));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, errors: () => text };
}
