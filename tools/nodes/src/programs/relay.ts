import { get, type IncomingHttpHeaders } from "node:http";
import { serve } from "./serve.js";

// The image relay: a service that asks the next one, whose URL is its argument, and answers with the number of services
// that have answered. Each request has a connection of its own, so that none outlives the Pod that it leads to.

const PORT = 8080;
const TIMEOUT_MS = 20_000;
/** Headers that applications pass on. */
const PROPAGATED = ["x-request-id", "traceparent"];

const [next] = process.argv.slice(2);

/** Returns the number of services behind this one. */
function callNext(url: string, received: IncomingHttpHeaders): Promise<number> {
  const headers = Object.fromEntries(
    PROPAGATED.flatMap((name) => (received[name] === undefined ? [] : [[name, received[name]]])),
  );
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false, headers, timeout: TIMEOUT_MS }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      response.on("end", () => {
        if (response.statusCode === 200) resolve(Number(text));
        else reject(new Error(`${url} answered ${response.statusCode}: ${text.trim()}`));
      });
    });
    request.on("error", reject);
    request.on("timeout", () => request.destroy(new Error(`${url} did not answer`)));
  });
}

serve("relay", PORT, (request, response) => {
  const behind = next === undefined ? Promise.resolve(0) : callNext(next, request.headers);
  behind.then(
    (count) => response.end(`${count + 1}\n`),
    (error: unknown) => {
      response.writeHead(502);
      response.end(`${error instanceof Error ? error.message : String(error)}\n`);
    },
  );
});
