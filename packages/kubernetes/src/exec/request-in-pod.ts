import { request as httpRequest } from "node:http";
import { Duplex, PassThrough } from "node:stream";
import { ApiError, type ApiErrorCode } from "../api-error.js";
import type { ClusterAccess } from "../client/cluster-access.js";
import { kubeConfigOf, reasonOfUpgrade } from "./kube-config.js";

/** An HTTP request to a port of a Pod. */
export interface PodRequest {
  readonly namespace: string;
  readonly pod: string;
  /** Port at the Pod's loopback address. */
  readonly port: number;
  /** Default `GET`. */
  readonly method?: string;
  /** Path with the query. */
  readonly path: string;
}

/** Milliseconds after which a request is given up. */
const defaultTimeoutMs = 30_000;

/**
 * Sends a request to a port of a Pod, as through `kubectl port-forward`, by WebSocket.
 *
 * @returns the body, as UTF-8
 * @throws ApiError `network` if the server refuses it or nothing listens at the port, `invalid` for an answer with a
 *   status of 400 or more, with its text, `timeout` after 30 s
 */
export async function requestInPod(
  access: ClusterAccess,
  request: PodRequest,
  timeoutMs = defaultTimeoutMs,
): Promise<string> {
  const { namespace, pod, port, method = "GET", path } = request;
  const place = `${method} ${path} at port ${port} of Pod ${namespace}/${pod}`;
  const connection = await connectToPod(access, request).catch((error: unknown) => {
    throw new ApiError("network", `${place}: ${reasonOfUpgrade(error)}`);
  });
  return new Promise((resolve, reject) => {
    const settle = (then: () => void): void => {
      clearTimeout(timer);
      connection.stream.destroy();
      then();
    };
    const fail = (code: ApiErrorCode, reason: string): void =>
      settle(() => reject(new ApiError(code, `${place}: ${reason}`)));
    const timer = setTimeout(() => fail("timeout", `no answer within ${timeoutMs} ms`), timeoutMs);
    connection.onError((text) => fail("network", text));
    const options = { method, path, headers: { host: "localhost", connection: "close" } };
    httpRequest({ ...options, createConnection: () => connection.stream }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.once("error", (error) => fail("network", error.message));
      response.once("end", () => {
        const text = Buffer.concat(chunks).toString("utf8");
        const { statusCode = 0 } = response;
        if (statusCode >= 400) fail("invalid", `status ${statusCode}: ${text.trim()}`);
        else settle(() => resolve(text));
      });
    })
      .once("error", (error) => fail("network", error.message))
      .end();
  });
}

interface PodConnection {
  readonly stream: Duplex;
  /** Sets the listener of the server's error, such as that nothing listens at the port. */
  onError(listener: (text: string) => void): void;
}

async function connectToPod(access: ClusterAccess, { namespace, pod, port }: PodRequest): Promise<PodConnection> {
  const { PortForward } = await import("@kubernetes/client-node");
  const [received, sent, errors] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const stream = Duplex.from({ readable: received, writable: sent });
  // An error of the connection is one of the request that uses it.
  stream.on("error", () => undefined);
  const forward = new PortForward(await kubeConfigOf(access));
  const socket = await forward.portForward(namespace, pod, [port], received, errors, sent);
  if (typeof socket === "function") throw new Error("the connection would be opened again");
  socket.onclose = () => received.end();
  stream.once("close", () => socket.terminate());
  return {
    stream,
    onError: (listener) =>
      void errors.on("data", (text: Buffer) => {
        if (text.length > 0) listener(text.toString("utf8").trim());
      }),
  };
}
