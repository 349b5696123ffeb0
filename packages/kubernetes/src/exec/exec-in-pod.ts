import { Writable } from "node:stream";
import { ApiError, type ApiErrorCode } from "../api-error.js";
import type { ClusterAccess } from "../client/cluster-access.js";
import { kubeConfigOf, reasonOfUpgrade } from "./kube-config.js";

/** A command for a container. */
export interface PodCommand {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly command: readonly string[];
}

/** Output of a command, as UTF-8. */
export interface PodCommandOutput {
  readonly stdout: string;
  readonly stderr: string;
}

/** Milliseconds after which a command is given up. */
const defaultTimeoutMs = 30_000;

/**
 * Runs a command in a container, as `kubectl exec` does, by WebSocket.
 *
 * @throws ApiError `forbidden` or another code if the server refuses it, `invalid` if the command fails, with its error
 *   output, `timeout` after 30 s
 */
export async function execInPod(
  access: ClusterAccess,
  request: PodCommand,
  timeoutMs = defaultTimeoutMs,
): Promise<PodCommandOutput> {
  const { Exec } = await import("@kubernetes/client-node");
  const config = await kubeConfigOf(access);
  const { namespace, pod, container, command } = request;
  const place = `command ${JSON.stringify(command.join(" "))} in container ${container} of Pod ${namespace}/${pod}`;
  const [stdout, stderr] = [new Collected(), new Collected()];
  return new Promise((resolve, reject) => {
    let close = (): void => undefined;
    const settle = (then: () => void): void => {
      clearTimeout(timer);
      close();
      then();
    };
    const fail = (code: ApiErrorCode, reason: string): void =>
      settle(() => reject(new ApiError(code, `${place}: ${reason}`)));
    const timer = setTimeout(() => fail("timeout", `no result within ${timeoutMs} ms`), timeoutMs);
    new Exec(config)
      .exec(namespace, pod, container, [...command], stdout, stderr, null, false, ({ status, message }) =>
        status === "Success"
          ? settle(() => resolve({ stdout: stdout.text(), stderr: stderr.text() }))
          : fail("invalid", stderr.text().trim() || message || "it failed"),
      )
      .then(
        (socket) => {
          close = () => socket.terminate();
          socket.onclose = () => fail("network", "the connection was closed before the result");
        },
        (error: unknown) => fail("network", reasonOfUpgrade(error)),
      );
  });
}

/** A stream that keeps what is written. */
class Collected extends Writable {
  readonly #chunks: Buffer[] = [];

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.#chunks.push(Buffer.from(chunk));
    done();
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString("utf8");
  }
}
