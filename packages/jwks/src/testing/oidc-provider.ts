import { generateKeyPairSync, type JsonWebKey, type KeyObject, randomUUID, sign } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";

export interface ProviderOptions {
  /** Address to listen on. Default: 127.0.0.1. */
  readonly host?: string;
  /** Certificate and key in PEM, to serve HTTPS. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly jwk: JsonWebKey;
}

/** Answers a request instead of the provider. */
type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * An OpenID provider on this machine: it serves its configuration and keys, signs tokens, and rotates its keys. Every
 * path that ends with `/jwks` has the keys.
 */
export class OidcProvider {
  readonly #server: Server;
  readonly #scheme: string;
  readonly #host: string;
  readonly #answers = new Map<string, Answer>();
  /** Number of requests by path. */
  readonly requests = new Map<string, number>();
  #keys: readonly SigningKey[] = [newKey()];

  private constructor({ host = "127.0.0.1", tls }: ProviderOptions) {
    this.#host = host;
    this.#scheme = tls === undefined ? "http" : "https";
    const listener = (request: IncomingMessage, response: ServerResponse): void => this.#respond(request, response);
    this.#server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  }

  static async start(options: ProviderOptions = {}): Promise<OidcProvider> {
    const provider = new OidcProvider(options);
    await provider.#listen(0);
    return provider;
  }

  get issuer(): string {
    return `${this.#scheme}://${this.#host.includes(":") ? `[${this.#host}]` : this.#host}:${this.port}`;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get jwksUri(): string {
    return `${this.issuer}/jwks`;
  }

  /** The current key set as text. */
  get jwks(): string {
    return JSON.stringify({ keys: this.#keys.map(({ jwk }) => jwk) });
  }

  /** Returns a token with these claims, signed with the newest key. */
  token(claims: Readonly<Record<string, unknown>>): string {
    const { kid, privateKey } = this.#keys[0] as SigningKey;
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const content = `${part({ alg: "ES256", kid })}.${part({ iss: this.issuer, ...claims })}`;
    const signature = sign("sha256", Buffer.from(content), { key: privateKey, dsaEncoding: "ieee-p1363" });
    return `${content}.${signature.toString("base64url")}`;
  }

  /** Replaces all keys by a new one. */
  rotate(): void {
    this.#keys = [newKey()];
  }

  /** Answers a path in another way; without an answer as usual again. */
  answer(path: string, answer?: Answer): void {
    if (answer === undefined) this.#answers.delete(path);
    else this.#answers.set(path, answer);
  }

  /** Returns the number of all requests. */
  requestCount(): number {
    return [...this.requests.values()].reduce((sum, count) => sum + count, 0);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #listen(port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, this.#host, resolve);
    });
  }

  #respond(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? "/";
    this.requests.set(path, (this.requests.get(path) ?? 0) + 1);
    const answer = this.#answers.get(path);
    if (answer !== undefined) return answer(request, response);
    if (path.endsWith("/jwks")) return void response.end(this.jwks);
    if (path !== "/.well-known/openid-configuration") return void response.writeHead(404).end();
    response.end(JSON.stringify({ issuer: this.issuer, jwks_uri: this.jwksUri }));
  }
}

function newKey(): SigningKey {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const kid = randomUUID();
  return { kid, privateKey, jwk: { ...publicKey.export({ format: "jwk" }), kid, alg: "ES256", use: "sig" } };
}
