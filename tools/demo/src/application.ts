import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { Ports } from "./ports.js";
import {
  type Answered,
  type Details,
  type Product,
  type Ratings,
  renderProductPage,
  type Reviews,
  type Served,
} from "./product-page.js";
import type { Workload } from "./workload.js";

/**
 * Headers that an application passes on, so that a trace holds together and the access logs tell whose request it was.
 */
const PROPAGATED = ["x-request-id", "traceparent", "end-user", "user-agent"];
const CALL_TIMEOUT = 5000;

/** The application of one workload, and where it calls others. */
interface Context {
  readonly workload: Workload;
  readonly ports: Ports;
  readonly incoming: IncomingMessage;
}

type Application = (context: Context) => Promise<object>;

/** Starts the application of one workload, as in Istio's Bookinfo sample. */
export function startApplication(workload: Workload, ports: Ports): Promise<Server> {
  const application = applications[workload.app];
  if (!application)
    throw new Error(`Pod ${workload.namespace}/${workload.name}: no application ${workload.app || '""'} in this demo`);
  const server = createServer((incoming, response) => {
    incoming.resume();
    application({ workload, ports, incoming })
      .then((body) => answer(incoming, response, { ...body, servedBy: workload.name, ...peerOf(incoming) }))
      .catch((error: unknown) =>
        response
          .writeHead(503, { "content-type": "text/plain" })
          .end(error instanceof Error ? error.message : String(error)),
      );
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(ports.application, workload.address, () => resolve(server));
  });
}

const applications: Readonly<Record<string, Application>> = {
  productpage: async (context): Promise<Omit<Product, keyof Served>> => {
    const [details, reviews] = await Promise.all([
      call<Details>(context, "details"),
      call<Reviews>(context, "reviews"),
    ]);
    return { title: "The Comedy of Errors", details, reviews };
  },
  details: async (): Promise<Details> => ({ author: "William Shakespeare", year: 1595, pages: 200 }),
  reviews: async (context): Promise<Reviews> => ({
    version: context.workload.version,
    reviews: ["An extremely entertaining play.", "Absolutely fun and entertaining."],
    ...(context.workload.version === "v1" ? {} : { ratings: await call<Ratings>(context, "ratings") }),
  }),
  ratings: async (): Promise<Ratings> => ({ reviewer1: 5, reviewer2: 4 }),
};

/** A browser is given the product page as HTML; whoever accepts JSON is given what the page shows. */
function answer(incoming: IncomingMessage, response: ServerResponse, body: object & Served): void {
  const isPage = "title" in body;
  const acceptsJson = incoming.headers.accept?.includes("application/json") === true;
  const common = { "x-served-by": body.servedBy, "cache-control": "no-store", vary: "accept" };
  if (isPage && !acceptsJson) {
    const policy = "default-src 'none'; style-src 'unsafe-inline'";
    response.writeHead(200, {
      ...common,
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy,
    });
    response.end(renderProductPage(body as Product));
    return;
  }
  response.writeHead(200, { ...common, "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

/** Returns the identity of the caller as the proxy in front of this application verified and reports it. */
function peerOf(incoming: IncomingMessage): { peer?: string } {
  const header = incoming.headers["x-forwarded-client-cert"];
  const peer = /(?:^|;)URI=([^;,]+)[^,]*$/.exec(typeof header === "string" ? header : "")?.[1];
  return peer === undefined ? {} : { peer };
}

/** Calls another service through the workload's own proxy. */
function call<T extends object>({ workload, ports, incoming }: Context, service: string): Promise<Answered<T>> {
  const headers: Record<string, string> = { host: `${service}:${ports.service}` };
  for (const name of PROPAGATED) {
    const value = incoming.headers[name];
    if (typeof value === "string") headers[name] = value;
  }
  return new Promise((resolve) => {
    const fail = (reason: string): void => resolve({ error: `${service}: ${reason}` });
    const outgoing = request(
      { host: workload.outbound, port: ports.service, path: `/${service}/0`, headers, timeout: CALL_TIMEOUT },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => (text += chunk));
        response.on("error", (error) => fail(error.message));
        response.on("end", () => {
          if (response.statusCode !== 200) return fail(`HTTP ${response.statusCode} ${text}`.trim());
          try {
            resolve(JSON.parse(text) as T & Served);
          } catch {
            fail("the response is not JSON");
          }
        });
      },
    );
    outgoing.on("timeout", () => outgoing.destroy(new Error(`no response in ${CALL_TIMEOUT / 1000} s`)));
    outgoing.on("error", (error) => fail(error.message));
    outgoing.end();
  });
}
