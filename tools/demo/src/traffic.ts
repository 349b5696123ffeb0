import { Agent, request } from "node:http";
import type { Product } from "./product-page.js";

/** One response of the page through the ingress gateway. */
export interface Sample {
  readonly ok: boolean;
  readonly status: number;
  /** The version of reviews that answered. */
  readonly version: string;
  /** The identity of productpage as the proxy of reviews verified it. */
  readonly peer: string;
}

/** The ingress gateway that serves the product page. */
export interface Gateway {
  readonly address: string;
  readonly port: number;
}

/** Requests the page at a steady rate and keeps the last responses. */
export class Traffic {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8 });
  readonly #samples: Sample[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly gateway: Gateway,
    private readonly keep = 300,
  ) {}

  start(perSecond: number): void {
    this.#timer = setInterval(() => void this.#ask(), 1000 / perSecond);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#agent.destroy();
  }

  /** The last responses, oldest first. */
  get samples(): readonly Sample[] {
    return this.#samples;
  }

  /** Discards the responses from before a change. */
  forget(): void {
    this.#samples.length = 0;
  }

  async #ask(): Promise<void> {
    this.#samples.push(await ask(this.gateway, this.#agent));
    if (this.#samples.length > this.keep) this.#samples.shift();
  }
}

/** The user agent of the demo's own requests, by which access logs are told apart. */
export const userAgent = "istiod-demo";

function ask(gateway: Gateway, agent: Agent): Promise<Sample> {
  const failed = (status: number): Sample => ({ ok: false, status, version: "", peer: "" });
  const headers = { host: "bookinfo.example", accept: "application/json", "user-agent": userAgent };
  return new Promise((resolve) => {
    const outgoing = request(
      { host: gateway.address, port: gateway.port, path: "/productpage", agent, timeout: 5000, headers },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => (text += chunk));
        response.on("error", () => resolve(failed(0)));
        response.on("end", () => {
          const reviews = response.statusCode === 200 ? parseReviews(text) : undefined;
          if (reviews === undefined || "error" in reviews) return resolve(failed(response.statusCode ?? 0));
          resolve({ ok: true, status: 200, version: reviews.version, peer: reviews.peer ?? "" });
        });
      },
    );
    outgoing.on("timeout", () => outgoing.destroy());
    outgoing.on("error", () => resolve(failed(0)));
    outgoing.end();
  });
}

function parseReviews(text: string): Product["reviews"] | undefined {
  try {
    return (JSON.parse(text) as Product).reviews;
  } catch {
    return undefined;
  }
}
