import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { PodCommand } from "../../exec/exec-in-pod.js";

/** Runs a command in a container. An error, or a code other than 0, is the failure of the command. */
export type ExecHandler = (
  command: PodCommand,
) => Promise<{ readonly stdout?: string; readonly stderr?: string; readonly code?: number }>;

/** Appended to the key of a WebSocket (RFC 6455, 1.3). */
const WEBSOCKET_ID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const protocol = "v5.channel.k8s.io";
const [STDOUT, STDERR, STATUS] = [1, 2, 3];

/** Returns a listener of upgrades that serves `exec` of Pods over WebSockets, without authentication. */
export function execUpgrade(handler: ExecHandler) {
  return (request: IncomingMessage, socket: Duplex): void => {
    socket.on("error", () => undefined);
    socket.on("end", () => socket.end()).resume();
    const url = new URL(request.url ?? "", "http://localhost");
    const [, namespace, pod] = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/exec$/.exec(url.pathname) ?? [];
    if (namespace === undefined || pod === undefined) return void socket.end("HTTP/1.1 404 Not Found\r\n\r\n");
    const accept = createHash("sha1").update(`${request.headers["sec-websocket-key"]}${WEBSOCKET_ID}`).digest("base64");
    socket.write(
      [
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: Upgrade",
        `Sec-WebSocket-Accept: ${accept}`,
        `Sec-WebSocket-Protocol: ${protocol}`,
        "\r\n",
      ].join("\r\n"),
    );
    const container = url.searchParams.get("container") ?? "";
    const command = url.searchParams.getAll("command");
    handler({ namespace, pod, container, command })
      .catch((error: unknown) => ({ stdout: "", stderr: String(error), code: 1 }))
      .then(({ stdout = "", stderr = "", code = 0 }) => {
        if (stdout !== "") socket.write(frame(STDOUT, stdout));
        if (stderr !== "") socket.write(frame(STDERR, stderr));
        const status =
          code === 0
            ? { status: "Success" }
            : { status: "Failure", message: `command terminated with exit code ${code}` };
        socket.write(frame(STATUS, JSON.stringify(status)));
        // An empty close frame.
        socket.end(Buffer.of(0x88, 0));
      })
      .catch(() => socket.destroy());
  };
}

/** Returns an unmasked binary frame of one channel. */
function frame(channel: number, text: string): Buffer {
  const payload = Buffer.concat([Buffer.of(channel), Buffer.from(text)]);
  const header = Buffer.alloc(10);
  header[0] = 0x82;
  header[1] = 127;
  header.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([header, payload]);
}
