import { Agent, request } from "node:http";

/** One answer of the page through the ingress gateway. */
export interface Sample {
  readonly ok: boolean;
  readonly status: number;
  /** The version of reviews that answered. */
  readonly version: string;
  /** The identity of productpage as the proxy of reviews verified it. */
  readonly peer: string;
}

/** Asks the page at a steady rate and remembers the last answers. */
export class Traffic {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8 });
  readonly #samples: Sample[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly gateway: string,
    private readonly keep = 300,
  ) {}

  start(perSecond: number): void {
    this.#timer = setInterval(() => void this.#ask(), 1000 / perSecond);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#agent.destroy();
  }

  /** The last answers, oldest first. */
  get samples(): readonly Sample[] {
    return this.#samples;
  }

  /** Forgets what was before a change. */
  forget(): void {
    this.#samples.length = 0;
  }

  async #ask(): Promise<void> {
    this.#samples.push(await ask(this.gateway, this.#agent));
    if (this.#samples.length > this.keep) this.#samples.shift();
  }
}

function ask(gateway: string, agent: Agent): Promise<Sample> {
  const failed = (status: number): Sample => ({ ok: false, status, version: "", peer: "" });
  return new Promise((resolve) => {
    const outgoing = request({ host: gateway, port: 8080, path: "/productpage", agent, timeout: 5000, headers: { host: "bookinfo.example" } }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("end", () => {
        if (response.statusCode !== 200) return resolve(failed(response.statusCode ?? 0));
        const { reviews } = JSON.parse(text) as { reviews: { version: string; peer?: string } };
        resolve({ ok: true, status: 200, version: reviews.version, peer: reviews.peer ?? "" });
      });
    });
    outgoing.on("timeout", () => outgoing.destroy());
    outgoing.on("error", () => resolve(failed(0)));
    outgoing.end();
  });
}
