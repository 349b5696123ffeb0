import { createServer, request, type IncomingMessage, type Server } from "node:http";
import type { Workload } from "./workload.js";

/** The port that an application of the sample listens on; its proxy takes 9080 in front of it. */
export const applicationPort = 9081;

/** Headers that an application passes on, so that a trace holds together. */
const passedOn = ["x-request-id", "traceparent", "end-user"];

type Answer = (incoming: IncomingMessage) => Promise<object>;

/** Starts the application of one workload: what Istio's Bookinfo sample does, less its pages. */
export function startApplication(of: Workload): Promise<Server> {
  const answer = applications[of.app]?.(of);
  if (!answer) throw new Error(`Pod ${of.namespace}/${of.name}: no application ${of.app} in this demo`);
  const server = createServer((incoming, response) => {
    incoming.resume();
    answer(incoming).then(
      (body) => {
        response.writeHead(200, { "content-type": "application/json", "x-served-by": of.name });
        response.end(JSON.stringify({ ...body, peer: peerOf(incoming) }));
      },
      (error: unknown) => response.writeHead(503).end(error instanceof Error ? error.message : String(error)),
    );
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(applicationPort, of.address, () => resolve(server));
  });
}

const applications: Readonly<Record<string, (of: Workload) => Answer>> = {
  productpage: (of) => async (incoming) => {
    const [details, reviews] = await Promise.all([call(of, "details", incoming), call(of, "reviews", incoming)]);
    return { page: "The Comedy of Errors", details, reviews };
  },
  details: () => async () => ({ author: "William Shakespeare", year: 1595, pages: 200 }),
  reviews: (of) => async (incoming) => ({
    servedBy: of.name,
    version: of.version,
    reviews: ["An extremely entertaining play.", "Absolutely fun and entertaining."],
    ...(of.version === "v1" ? {} : { ratings: await call(of, "ratings", incoming) }),
  }),
  ratings: () => async () => ({ reviewer1: 5, reviewer2: 4 }),
};

/** The identity of the caller as the proxy in front of this application verified and reports it. */
function peerOf(incoming: IncomingMessage): string | undefined {
  const header = incoming.headers["x-forwarded-client-cert"];
  return /(?:^|;)URI=([^;,]+)[^,]*$/.exec(typeof header === "string" ? header : "")?.[1];
}

/** Calls another service through the workload's own proxy. */
function call(from: Workload, service: string, incoming: IncomingMessage): Promise<object> {
  const headers: Record<string, string> = { host: `${service}:9080` };
  for (const name of passedOn) {
    const value = incoming.headers[name];
    if (typeof value === "string") headers[name] = value;
  }
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: from.outbound, port: 9080, path: `/${service}/0`, headers, timeout: 5000 }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("end", () => {
        if (response.statusCode !== 200) reject(new Error(`${service}: ${response.statusCode} ${text}`));
        else resolve(JSON.parse(text) as object);
      });
    });
    outgoing.on("timeout", () => outgoing.destroy(new Error(`${service}: no answer in 5 s`)));
    outgoing.on("error", reject);
    outgoing.end();
  });
}
