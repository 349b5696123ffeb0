import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { SecureContext } from "node:tls";
import type { AddressRules } from "../addresses/address-rules.js";
import {
  type BlockedReason,
  checkAddress,
  checkedLookup,
  type Resolve,
  systemResolve,
} from "../addresses/checked-lookup.js";
import { JwksError } from "../jwks-error.js";
import { connectionReason } from "./connection-reason.js";
import { hopRules } from "./hop-rules.js";
import { readBody } from "./read-body.js";

export interface DocumentClientOptions {
  readonly rules: AddressRules;
  /** Returns the TLS context with the trusted roots, for each connection. */
  readonly secureContext: () => Promise<SecureContext>;
  /** Accepts any certificate of the server. Default: false. */
  readonly insecureSkipVerify?: boolean;
  /** Maximum length of a document in bytes. Default: 1 MiB. */
  readonly maxBytes?: number;
  /** Default: the system's resolver. */
  readonly resolve?: Resolve;
}

export interface GetOptions {
  /** Timeout of the whole fetch in milliseconds, with redirects and the body. */
  readonly timeoutMs: number;
  /** Ends the fetch. */
  readonly signal?: AbortSignal;
  /** Receives each resolution of a name. It cannot be ended, and may go on after the fetch. */
  readonly hold?: (until: Promise<unknown>) => void;
}

/** As in Go's HTTP client. */
const maxRedirects = 10;
const maxUrlLength = 8192;
const defaultMaxBytes = 1024 * 1024;
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** One hop of a fetch. */
interface Hop extends Pick<GetOptions, "hold"> {
  readonly url: URL;
  readonly blockedReason: BlockedReason;
  readonly signal: AbortSignal;
}

/**
 * Gets small documents by HTTP and HTTPS. Addresses are checked after resolution, for each redirect again; size, time
 * and number of redirects are bounded. Each request has a connection of its own.
 */
export class DocumentClient {
  readonly #options: DocumentClientOptions;

  constructor(options: DocumentClientOptions) {
    this.#options = options;
  }

  /** Returns the body of a 2xx answer as text. @throws JwksError */
  async get(text: string, { timeoutMs, signal, hold }: GetOptions): Promise<string> {
    const timeout = AbortSignal.timeout(timeoutMs);
    const ends = signal === undefined ? timeout : AbortSignal.any([timeout, signal]);
    try {
      return await this.#follow(parseUrl(text), { signal: ends, ...(hold !== undefined && { hold }) });
    } catch (error) {
      if (signal?.aborted === true) throw new JwksError("aborted", "the fetch was ended", { cause: error });
      if (timeout.aborted) throw new JwksError("timeout", `no answer within ${timeoutMs} ms`, { cause: error });
      if (error instanceof JwksError) throw error;
      const { code, reason } = connectionReason(error);
      throw new JwksError(code, reason, { cause: error });
    }
  }

  async #follow(first: URL, ends: Pick<Hop, "signal" | "hold">): Promise<string> {
    const { rules, maxBytes = defaultMaxBytes } = this.#options;
    const ruleOf = hopRules(rules);
    let url = first;
    for (let redirects = 0; ; redirects++) {
      const response = await this.#send({ ...ends, url, blockedReason: ruleOf(redirects === 0) });
      const { statusCode = 0, headers } = response;
      if (!redirectStatuses.has(statusCode) || headers.location === undefined) {
        if (statusCode >= 200 && statusCode < 300) return readBody(response, maxBytes);
        response.destroy();
        throw new JwksError("status", `${url.host} answers with status ${statusCode}`);
      }
      response.destroy();
      if (redirects === maxRedirects) throw new JwksError("redirect", `more than ${maxRedirects} redirects`);
      url = redirectTarget(url, headers.location);
    }
  }

  async #send({ url, blockedReason, signal, hold }: Hop): Promise<IncomingMessage> {
    checkAddress(url.hostname, blockedReason);
    const { resolve = systemResolve, insecureSkipVerify = false, secureContext } = this.#options;
    const options = {
      method: "GET",
      agent: false,
      headers: { accept: "application/json", "accept-encoding": "identity", "user-agent": "istiod" },
      lookup: checkedLookup(hold === undefined ? resolve : held(resolve, hold), blockedReason),
      signal,
    } as const;
    if (url.protocol === "http:") return answerOf(httpRequest(url, options));
    const tls = { secureContext: await secureContext(), rejectUnauthorized: !insecureSkipVerify };
    return answerOf(httpsRequest(url, { ...options, ...tls }));
  }
}

/** Returns a resolver that reports its resolutions. */
function held(resolve: Resolve, hold: (until: Promise<unknown>) => void): Resolve {
  return (host, done) => {
    let end = (): void => undefined;
    hold(new Promise<void>((ended) => (end = ended)));
    resolve(host, (error, addresses) => {
      end();
      done(error, addresses);
    });
  };
}

function answerOf(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on("response", resolve);
    request.on("error", reject);
    // An answer without a response would otherwise never settle.
    request.on("close", () => reject(new JwksError("connection", "the connection was closed without a response")));
    request.on("upgrade", (_, socket) => {
      socket.destroy();
      reject(new JwksError("status", "the server switches protocols"));
    });
    request.end();
  });
}

function redirectTarget(from: URL, location: string): URL {
  if (location.length > maxUrlLength || !URL.canParse(location, from.href))
    throw new JwksError("redirect", `${from.host} redirects to an invalid URL`);
  const to = parseUrl(new URL(location, from).href);
  if (from.protocol === "https:" && to.protocol === "http:")
    throw new JwksError("redirect", `${from.host} redirects from https to http, where keys could be forged`);
  return to;
}

function parseUrl(text: string): URL {
  if (text.length > maxUrlLength || !URL.canParse(text)) throw new JwksError("url", "is not a URL");
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new JwksError("url", `the scheme is ${JSON.stringify(url.protocol.slice(0, 20))}, expected http or https`);
  return url;
}
