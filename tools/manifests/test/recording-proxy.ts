import { createServer } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream";
import type { Cluster } from "@istiod/cluster";

/** A proxy in front of an API server that records the requests which are forbidden. */
export interface RecordingProxy {
  readonly url: string;
  /** Method and path of each forbidden request, without its query. */
  readonly forbidden: readonly string[];
  stop(): void;
}

/** Starts a proxy without TLS on the loopback address. It passes the caller's token on. */
export async function startRecordingProxy({ url, certificateAuthority }: Cluster): Promise<RecordingProxy> {
  const target = new URL(url);
  const forbidden: string[] = [];
  const proxy = createServer((incoming, answer) => {
    const { method = "GET", url: path = "/", headers } = incoming;
    const outgoing = request(
      {
        host: target.hostname,
        port: target.port,
        ca: certificateAuthority,
        method,
        path,
        headers: { ...headers, host: target.host },
      },
      (response) => {
        const { statusCode = 502 } = response;
        if (statusCode === 403) forbidden.push(`${method} ${path.split("?")[0]}`);
        answer.writeHead(statusCode, response.headers);
        // Watches end with whichever side ends.
        pipeline(response, answer, () => undefined);
      },
    );
    outgoing.on("error", () => answer.destroy());
    answer.on("close", () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    forbidden,
    stop: () => {
      proxy.close();
      proxy.closeAllConnections();
    },
  };
}
