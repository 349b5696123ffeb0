import type { IncomingHttpHeaders } from "node:http";
import { hostname } from "node:os";
import { serve } from "./serve.js";

// The images productpage, details, reviews and ratings. Each answers with what it is and what the services that it
// calls answered.

const PORT = 9080;
/** Headers that applications pass on, so that routes and traces apply to the whole request. */
const PROPAGATED = ["x-request-id", "traceparent", "tracestate", "end-user", "user-agent", "authorization"];

const [service = "", version = ""] = process.argv.slice(2);

const callees: Readonly<Record<string, readonly string[]>> = {
  productpage: ["details", "reviews"],
  reviews: version === "v1" ? [] : ["ratings"],
};

interface Answer {
  readonly service: string;
  readonly status: number;
  readonly answer: unknown;
}

async function call(callee: string, headers: IncomingHttpHeaders): Promise<Answer> {
  const passed = PROPAGATED.flatMap((name) => (typeof headers[name] === "string" ? [[name, headers[name]]] : []));
  try {
    const response = await fetch(`http://${callee}:${PORT}/`, {
      headers: Object.fromEntries(passed) as Record<string, string>,
      signal: AbortSignal.timeout(10_000),
    });
    const text = await response.text();
    return { service: callee, status: response.status, answer: response.ok ? (JSON.parse(text) as unknown) : text };
  } catch (error) {
    return { service: callee, status: 0, answer: String(error) };
  }
}

serve(`${service} ${version}`, PORT, (request, response) => {
  void Promise.all((callees[service] ?? []).map((callee) => call(callee, request.headers))).then((calls) => {
    const client = request.headers["x-forwarded-client-cert"];
    response.writeHead(200, { "content-type": "application/json" });
    response.end(`${JSON.stringify({ service, version, host: hostname(), client, calls })}\n`);
  });
});
