import { createHash } from "node:crypto";
import { AgentError } from "../errors.js";
import type { HttpClient, HttpResponse } from "./http-client.js";
import type { ImageReference } from "./image-reference.js";
import { isModule, moduleInLayer } from "./unpack-module.js";

export interface PullOptions {
  /** Content of a Secret of the type `kubernetes.io/dockerconfigjson`. */
  readonly pullSecret?: string | undefined;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** True if certificates are not verified. */
  readonly isInsecure: boolean;
  /** True if the registry has plain HTTP. */
  readonly isPlain: boolean;
}

const imageTypes = [
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
];
const indexTypes = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
];
const archiveTypes = [
  "application/vnd.oci.image.layer.v1.tar+gzip",
  "application/vnd.docker.image.rootfs.diff.tar.gzip",
];
const moduleTypes = ["application/vnd.module.wasm.content.layer.v1+wasm", "application/wasm"];
const maxManifestBytes = 4 * 1024 * 1024;
const architectures: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

interface Descriptor {
  readonly mediaType?: unknown;
  readonly digest?: unknown;
  readonly platform?: { readonly os?: unknown; readonly architecture?: unknown } | undefined;
}

/** The manifest of an image. */
export interface ImageManifest {
  /** SHA-256 of the manifest, in hexadecimal digits. */
  readonly digest: string;
  readonly layers: readonly Descriptor[];
}

/** Pulls an image with a module. Content is verified by its digests. Source: pkg/wasm/imagefetcher.go. */
export class RegistryClient {
  readonly #http: HttpClient;
  readonly #image: ImageReference;
  readonly #options: PullOptions;
  readonly #base: URL;
  #authorization: string | undefined;

  constructor(http: HttpClient, image: ImageReference, options: PullOptions) {
    this.#http = http;
    this.#image = image;
    this.#options = options;
    this.#base = new URL(`${options.isPlain ? "http" : "https"}://${image.registry}/v2/${image.repository}/`);
  }

  /** Fetches the manifest of the image, of an image for several platforms that of this one. */
  async manifest(version = this.#image.version, isNested = false): Promise<ImageManifest> {
    const accept = [...imageTypes, ...indexTypes].join(", ");
    const { body, headers } = await this.#get(`manifests/${version}`, { accept }, maxManifestBytes);
    const digest = sha256(body);
    if (version.startsWith("sha256:") && version !== `sha256:${digest}`)
      throw failure(`the manifest of ${this.#name} does not have its digest`);
    const manifest = parseJson(body, this.#name);
    const type = typeof manifest.mediaType === "string" ? manifest.mediaType : headers["content-type"];
    if (!indexTypes.includes(type ?? "")) return { digest, layers: descriptors(manifest.layers) };
    const nested = isNested ? undefined : ofThisPlatform(descriptors(manifest.manifests))?.digest;
    if (typeof nested !== "string" || !nested.startsWith("sha256:"))
      throw failure(`${this.#name} has no image for this platform`);
    return this.manifest(nested, true);
  }

  /** Fetches the module in an image: an artifact, or the file `plugin.wasm` of the last layer. */
  async module({ layers }: ImageManifest): Promise<Buffer> {
    const artifact = layers.find(({ mediaType }) => moduleTypes.includes(String(mediaType)));
    const last = layers.at(-1);
    const layer = artifact ?? (archiveTypes.includes(String(last?.mediaType)) ? last : undefined);
    if (layer === undefined) throw failure(`${this.#name} has no layer with a module`);
    const digest = String(layer.digest);
    const { maxBytes } = this.#options;
    const { body } = await this.#get(`blobs/${digest}`, {}, maxBytes);
    if (digest !== `sha256:${sha256(body)}`) throw failure(`a layer of ${this.#name} does not have its digest`);
    const module = layer === artifact ? body : await moduleInLayer(body, maxBytes);
    if (module === undefined || !isModule(module)) throw failure(`${this.#name} has no module`);
    return module;
  }

  get #name(): string {
    return `image ${this.#image.registry}/${this.#image.repository}`;
  }

  async #get(path: string, headers: Readonly<Record<string, string>>, maxBytes: number): Promise<HttpResponse> {
    const url = new URL(path, this.#base);
    const send = (): Promise<HttpResponse> =>
      this.#http.get(url, {
        headers: { ...headers, ...(this.#authorization !== undefined && { authorization: this.#authorization }) },
        maxBytes,
        signal: this.#options.signal,
        isInsecure: this.#options.isInsecure,
      });
    let response = await send();
    if (response.status === 401 && this.#authorization === undefined) {
      this.#authorization = await this.#authorize(response.headers["www-authenticate"] ?? "");
      response = await send();
    }
    if (response.status !== 200) throw failure(`${this.#name}: ${url.pathname} responded with ${response.status}`);
    return response;
  }

  /** Returns the header for a challenge: with the credentials themselves, or a token that they are exchanged for. */
  async #authorize(challenge: string): Promise<string> {
    const { pullSecret, signal, isInsecure } = this.#options;
    const credentials = credentialsFor(this.#image.registry, pullSecret);
    const basic = credentials && `Basic ${Buffer.from(credentials).toString("base64")}`;
    const scheme = /^\s*(\w+)/.exec(challenge)?.[1]?.toLowerCase();
    if (scheme === "basic" && basic !== undefined) return basic;
    const parameter = (name: string): string | undefined => new RegExp(`\\b${name}="([^"]*)"`).exec(challenge)?.[1];
    const realm = parameter("realm");
    if (scheme !== "bearer" || realm === undefined || !URL.canParse(realm))
      throw failure(`${this.#name} is not accessible${basic === undefined ? " without credentials" : ""}`);
    const url = new URL(realm);
    if (url.protocol !== "https:" && this.#base.protocol === "https:" && !isInsecure)
      throw failure(`the token server of ${this.#name} has no HTTPS`);
    const service = parameter("service");
    if (service !== undefined) url.searchParams.set("service", service);
    url.searchParams.set("scope", `repository:${this.#image.repository}:pull`);
    const headers = basic === undefined ? {} : { authorization: basic };
    const { status, body } = await this.#http.get(url, { headers, maxBytes: maxManifestBytes, signal, isInsecure });
    if (status !== 200) throw failure(`the token server of ${this.#name} responded with ${status}`);
    const { token, access_token: alias } = parseJson(body, `the token of ${this.#name}`);
    const found = typeof token === "string" ? token : alias;
    if (typeof found !== "string") throw failure(`the token server of ${this.#name} issued no token`);
    return `Bearer ${found}`;
  }
}

function ofThisPlatform(manifests: readonly Descriptor[]): Descriptor | undefined {
  const of = (architecture: string | undefined): Descriptor | undefined =>
    manifests.find(({ platform }) => platform?.os === "linux" && platform.architecture === architecture);
  return (
    of(architectures[process.arch]) ?? of("amd64") ?? of("wasm") ?? (manifests.length === 1 ? manifests[0] : undefined)
  );
}

/** Returns `user:password` for a registry by a Docker configuration; undefined if it has none. */
function credentialsFor(registry: string, pullSecret: string | undefined): string | undefined {
  if (pullSecret === undefined) return undefined;
  const { auths } = parseJson(Buffer.from(pullSecret), "the pull secret");
  for (const [server, entry] of Object.entries((auths ?? {}) as Readonly<Record<string, unknown>>)) {
    const host = server.replace(/^https?:\/\//, "").replace(/\/.*$/, "");
    if (host !== registry && !(host === "docker.io" && registry === "index.docker.io")) continue;
    const { auth, username, password } = (entry ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof auth === "string" && auth !== "") return Buffer.from(auth, "base64").toString();
    if (typeof username === "string" && typeof password === "string") return `${username}:${password}`;
  }
  return undefined;
}

function parseJson(body: Buffer, what: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body.toString());
    if (typeof value === "object" && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch {
    // The text may be a credential, and is not repeated.
  }
  throw failure(`${what} is no JSON object`);
}

function descriptors(value: unknown): readonly Descriptor[] {
  return Array.isArray(value)
    ? value.filter((each): each is Descriptor => typeof each === "object" && each !== null)
    : [];
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function failure(message: string): AgentError {
  return new AgentError("module", message);
}
