import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { gunzipSync } from "node:zlib";

/** A JSON object whose fields tests read without types. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Loose = any;

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Loose;
  readonly text: string;
}

export interface Endpoint {
  readonly url: string;
  readonly token: string;
  readonly ca?: string;
}

export interface SendOptions {
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  /** Default: the endpoint's. An empty one sends no credentials. */
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends requests as any HTTP client does, so that the suite judges the server and no client of ours. */
export class Http {
  readonly #endpoint: Endpoint;

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
  }

  get = (path: string, options?: SendOptions): Promise<Answer> => this.send("GET", path, options);
  post = (path: string, body: unknown, options?: SendOptions): Promise<Answer> =>
    this.send("POST", path, { ...options, body });
  put = (path: string, body: unknown, options?: SendOptions): Promise<Answer> =>
    this.send("PUT", path, { ...options, body });
  delete = (path: string, body?: unknown): Promise<Answer> => this.send("DELETE", path, { body });
  mergePatch = (path: string, body: unknown): Promise<Answer> =>
    this.send("PATCH", path, { body, contentType: "application/merge-patch+json" });
  jsonPatch = (path: string, body: unknown): Promise<Answer> =>
    this.send("PATCH", path, { body, contentType: "application/json-patch+json" });
  apply = (path: string, body: unknown, manager: string, force = false): Promise<Answer> =>
    this.send("PATCH", `${path}?fieldManager=${manager}${force ? "&force=true" : ""}`, {
      body,
      contentType: "application/apply-patch+yaml",
    });

  async send(method: string, path: string, options: SendOptions = {}): Promise<Answer> {
    const response = await this.open(method, path, options);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks);
    const text = (response.headers["content-encoding"] === "gzip" ? gunzipSync(raw) : raw).toString("utf8");
    const isJson = /^application\/(jwk-set\+)?json/.test(response.headers["content-type"] ?? "");
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      text,
      body: isJson ? (JSON.parse(text) as unknown) : undefined,
    };
  }

  /** Sends a request and returns the answer when its headers are there. */
  open(method: string, path: string, { body, contentType, accept, token, headers }: SendOptions = {}) {
    const { url, ca, token: own } = this.#endpoint;
    const credentials = token ?? own;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const sent = {
      ...(credentials !== "" && { Authorization: `Bearer ${credentials}` }),
      ...(text !== undefined && {
        "Content-Type": contentType ?? "application/json",
        "Content-Length": String(Buffer.byteLength(text)),
      }),
      ...(accept !== undefined && { Accept: accept }),
      ...headers,
    };
    return new Promise<IncomingMessage>((resolve, reject) => {
      const done = (response: IncomingMessage): void => resolve(response);
      const options = { method, headers: sent, agent: false as const };
      const request: ClientRequest = url.startsWith("https:")
        ? httpsRequest(url + path, { ...options, ...(ca !== undefined && { ca }) }, done)
        : httpRequest(url + path, options, done);
      request.on("error", reject);
      request.end(text);
    });
  }

  /** Opens a watch. */
  async watch(path: string, query: Readonly<Record<string, string>> = {}): Promise<Watch> {
    const search = new URLSearchParams({ watch: "1", ...query }).toString();
    const response = await this.open("GET", `${path}?${search}`);
    return new Watch(response);
  }
}

export interface Event {
  readonly type: string;
  readonly object: Loose;
}

/** The events of a watch. */
export class Watch {
  readonly status: number;
  readonly #response: IncomingMessage;
  readonly #events: AsyncGenerator<Event>;
  #error: NodeJS.ErrnoException | undefined;

  constructor(response: IncomingMessage) {
    this.status = response.statusCode ?? 0;
    this.#response = response;
    this.#events = this.#parse();
  }

  async *#parse(): AsyncGenerator<Event> {
    let rest = "";
    try {
      for await (const chunk of this.#response) {
        const lines = (rest + String(chunk)).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line !== "") yield JSON.parse(line) as Event;
      }
    } catch (error) {
      this.#error = error as NodeJS.ErrnoException;
    }
  }

  /** Returns the next events. */
  async next(count: number): Promise<Event[]> {
    const events: Event[] = [];
    while (events.length < count) {
      const { value, done } = (await this.#events.next()) as IteratorResult<Event, undefined>;
      if (done === true) throw new Error(`the watch ended after ${events.length} of ${count} events`);
      events.push(value);
    }
    return events;
  }

  /** Returns the events until the watch ends, and its error code unless it ended cleanly. */
  async rest(): Promise<{ readonly events: Event[]; readonly error: string | undefined }> {
    const events: Event[] = [];
    for await (const event of this.#events) events.push(event);
    return { events, error: this.#error?.code };
  }

  close(): void {
    this.#response.destroy();
  }
}
