import { connect, type IncomingHttpHeaders, type IncomingHttpStatusHeader } from "node:http2";
import { type Answered, seenIn } from "./call.js";

/**
 * Sends a request over HTTP/2 without TLS, by prior knowledge, to an address that may differ from the URL's host.
 *
 * @param timeout milliseconds
 * @throws Error of the connection if there is no response
 */
export function callHttp2(
  address: string,
  url: string,
  {
    headers = {},
    timeout = 15_000,
  }: { readonly headers?: Readonly<Record<string, string>>; readonly timeout?: number },
): Promise<Pick<Answered, "status" | "headers" | "text" | "seen">> {
  const { port, host, pathname, search } = new URL(url);
  return new Promise((resolve, reject) => {
    const session = connect(`http://${address}:${port || 80}`);
    const fail = (error: Error): void => {
      session.destroy();
      reject(error);
    };
    session.on("error", fail);
    const stream = session.request({ ":path": pathname + search, ":authority": host, ...headers });
    stream.setTimeout(timeout, () => fail(new Error("timeout")));
    let answered: IncomingHttpHeaders & IncomingHttpStatusHeader = {};
    let text = "";
    stream
      .setEncoding("utf8")
      .on("response", (received) => (answered = received))
      .on("data", (chunk: string) => (text += chunk))
      .on("error", fail)
      .on("close", () => {
        session.close();
        if (answered[":status"] === undefined) return reject(new Error("no response"));
        resolve({ status: answered[":status"], headers: answered, text, seen: seenIn(text) });
      });
  });
}
