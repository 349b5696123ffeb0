import { lookup as lookUpHost, type LookupAddress } from "node:dns";
import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { AgentError } from "../errors.js";
import type { BlockedAddresses } from "./blocked-addresses.js";

export interface GetOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Maximum size of the body. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** True if certificates are not verified, and plain HTTP is accepted after a redirect. */
  readonly isInsecure?: boolean;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const maxRedirects = 5;

/**
 * An HTTP client for servers that users name. Addresses are checked when it connects, also after redirects, so that no
 * name and no redirect leads to a blocked address.
 */
export class HttpClient {
  readonly #blocked: BlockedAddresses;

  constructor(blocked: BlockedAddresses) {
    this.#blocked = blocked;
  }

  /** @throws AgentError `module` if there is no response, or it is too large */
  async get(url: URL, options: GetOptions, redirects = 0): Promise<HttpResponse> {
    const response = await this.#send(url, options);
    const { location } = response.headers;
    if (![301, 302, 303, 307, 308].includes(response.status) || location === undefined) return response;
    if (redirects === maxRedirects) throw failure(`${url.host} redirects more than ${maxRedirects} times`);
    const target = URL.canParse(location, url.href) ? new URL(location, url.href) : undefined;
    if (target === undefined) throw failure(`${url.host} redirects to an invalid URL`);
    if (target.protocol === "http:" && url.protocol === "https:" && !options.isInsecure)
      throw failure(`${url.host} redirects from HTTPS to HTTP`);
    // Credentials are for the server that they were given for.
    const { authorization, ...others } = options.headers ?? {};
    const headers = authorization !== undefined && target.origin === url.origin ? { ...others, authorization } : others;
    return this.get(target, { ...options, headers }, redirects + 1);
  }

  async #send(url: URL, { headers = {}, maxBytes, signal, isInsecure = false }: GetOptions): Promise<HttpResponse> {
    if (url.protocol !== "http:" && url.protocol !== "https:")
      throw failure(`${url.protocol}// is not supported, expected http:// or https://`);
    const host = url.hostname.replace(/^\[|\]$/g, "");
    if (isIP(host) !== 0 && this.#blocked.has(host)) throw failure(`connections to ${host} are blocked`);
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = send(
        url,
        { headers, signal, agent: false, lookup: this.#lookup, rejectUnauthorized: !isInsecure },
        resolve,
      );
      request.on("error", reject);
      request.end();
    });
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw failure(`the response of ${url.host} is larger than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
    return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) };
  }

  /** Resolves a host to its addresses that are not blocked. */
  readonly #lookup: LookupFunction = (host, options, callback) => {
    lookUpHost(host, { ...options, all: true }, (error, addresses: readonly LookupAddress[]) => {
      if (error) return callback(error, "", 0);
      const permitted = addresses.filter(({ address }) => !this.#blocked.has(address));
      const [first] = permitted;
      if (first === undefined) return callback(failure(`connections to the addresses of ${host} are blocked`), "", 0);
      if (options.all === true) return callback(null, permitted);
      callback(null, first.address, first.family);
    });
  };
}

function failure(message: string): AgentError {
  return new AgentError("module", message);
}
