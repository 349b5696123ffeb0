import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "@istiod/runtime";
import { AgentError } from "../errors.js";
import type { BlockedAddresses } from "./blocked-addresses.js";
import { HttpClient } from "./http-client.js";
import { isLocalRegistry, parseImageReference } from "./image-reference.js";
import { RegistryClient, sha256 } from "./registry-client.js";
import { unpackModule } from "./unpack-module.js";

export interface ModuleStoreOptions {
  /** Directory of the files, which is created. */
  readonly directory: string;
  readonly clock: Clock;
  readonly blocked: BlockedAddresses;
  /** Hosts whose certificates are not verified; `*` for all. */
  readonly insecureHosts: readonly string[];
  readonly maxBytes: number;
  /** Time after its last use in which a module is kept, in milliseconds. */
  readonly expiry: number;
  /** Timeout of an HTTP request in milliseconds, and the number of attempts. */
  readonly requestTimeout: number;
  readonly attempts: number;
  readonly events?: ModuleStoreEvents;
}

/** Events of the store, each counted by the Istio metric that its comment names. */
export interface ModuleStoreEvents {
  /** `wasm_cache_lookup_count` */
  lookedUp?(isHit: boolean): void;
  /** `wasm_remote_fetch_count` */
  fetched?(result: "success" | "checksum_mismatched" | "download_failure" | "fetch_failure"): void;
  /** `wasm_cache_entries` */
  size?(entries: number): void;
}

/** A module that a proxy needs. */
export interface ModuleRequest {
  readonly url: string;
  /** SHA-256 of the module, or of the manifest of its image, in hexadecimal digits; empty if unknown. */
  readonly checksum: string;
  /** The extension that names the module, and its version. */
  readonly resourceName: string;
  readonly resourceVersion: string;
  readonly pullPolicy: string;
  readonly pullSecret: string | undefined;
  /** Milliseconds. */
  readonly timeout: number;
}

interface StoredModule {
  readonly path: string;
  lastUsed: number;
}

interface KnownVersion {
  checksum: string;
  /** Version of each extension when it last used the URL. */
  readonly versions: Map<string, string>;
}

/** First pause between attempts in milliseconds. It doubles with each. */
const firstPause = 500;

/** Modules in files, fetched when they are first needed. Source: pkg/wasm/cache.go. */
export class ModuleStore {
  readonly #options: ModuleStoreOptions;
  readonly #http: HttpClient;
  readonly #modules = new Map<string, StoredModule>();
  readonly #known = new Map<string, KnownVersion>();
  readonly #fetching = new Map<string, Promise<StoredModule>>();

  constructor(options: ModuleStoreOptions) {
    this.#options = options;
    this.#http = new HttpClient(options.blocked);
  }

  /** Returns the path of a module. @throws AgentError `module` */
  async path(request: ModuleRequest): Promise<string> {
    await this.#removeExpired();
    const { clock, events } = this.#options;
    const cached = this.#find(request);
    events?.lookedUp?.(cached !== undefined);
    const module = cached ?? (await this.#fetchOnce(request));
    module.lastUsed = clock.now();
    return module.path;
  }

  #find(request: ModuleRequest): StoredModule | undefined {
    const { url, checksum, resourceName, resourceVersion } = request;
    const known = this.#known.get(url);
    const isCurrent = isKept(request) || known?.versions.get(resourceName) === resourceVersion;
    const version = checksum || digestIn(url) || (isCurrent ? known?.checksum : undefined);
    known?.versions.set(resourceName, resourceVersion);
    return version === undefined ? undefined : this.#modules.get(keyOf(url, version));
  }

  /** Fetches a module once for all extensions that need it at the same time. */
  #fetchOnce(request: ModuleRequest): Promise<StoredModule> {
    const { url, checksum, pullSecret = "" } = request;
    const key = JSON.stringify([url, checksum, sha256(Buffer.from(pullSecret))]);
    const fetching =
      this.#fetching.get(key) ??
      this.#fetch(request).finally(() => {
        this.#fetching.delete(key);
      });
    this.#fetching.set(key, fetching);
    return fetching;
  }

  async #fetch(request: ModuleRequest): Promise<StoredModule> {
    const { events } = this.#options;
    try {
      const signal = AbortSignal.timeout(request.timeout);
      const url = URL.canParse(request.url) ? new URL(request.url) : undefined;
      if (url?.protocol === "oci:") return await this.#fetchImage(request, signal);
      if (url?.protocol !== "http:" && url?.protocol !== "https:")
        throw failure("the URL has no supported scheme, expected http, https or oci");
      const module = await this.#download(url, signal);
      const digest = sha256(module);
      this.#check(request, digest);
      return await this.#add(request, digest, module);
    } catch (error) {
      if (!(error instanceof ChecksumError)) events?.fetched?.("download_failure");
      throw AgentError.from(error, "module", `cannot fetch ${withoutCredentials(request.url)}`);
    }
  }

  async #fetchImage(request: ModuleRequest, signal: AbortSignal): Promise<StoredModule> {
    const image = parseImageReference(request.url.slice("oci://".length));
    if (image === undefined) throw failure("the URL names no image");
    const { maxBytes } = this.#options;
    const isInsecure = this.#isInsecure(image.registry);
    const pull = async (isPlain: boolean): Promise<StoredModule> => {
      const options = { pullSecret: request.pullSecret, maxBytes, signal, isInsecure, isPlain };
      const registry = new RegistryClient(this.#http, image, options);
      const manifest = await registry.manifest();
      this.#check(request, manifest.digest);
      const stored = this.#modules.get(keyOf(request.url, manifest.digest));
      if (stored === undefined) return this.#add(request, manifest.digest, await registry.module(manifest));
      this.#remember(request, manifest.digest);
      return stored;
    };
    const isLocal = isLocalRegistry(image.registry);
    try {
      return await pull(isLocal);
    } catch (error) {
      if (isLocal || !isInsecure || !isNoTls(error)) throw error;
      return pull(true);
    }
  }

  async #download(url: URL, signal: AbortSignal): Promise<Buffer> {
    const { attempts, requestTimeout, maxBytes, clock } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        const timeout = AbortSignal.any([signal, AbortSignal.timeout(requestTimeout)]);
        const options = { maxBytes, signal: timeout, isInsecure: this.#isInsecure(url.host) };
        const { status, body } = await this.#http.get(url, options);
        if (status === 200) return (await unpackModule(body, maxBytes)) ?? fail("the response is no module");
        const isTransient = status >= 500 && ![501, 505, 511].includes(status);
        if (!isTransient || attempt >= attempts) throw new PermanentError(`the server responded with ${status}`);
      } catch (error) {
        if (error instanceof AgentError || signal.aborted || attempt >= attempts) throw error;
      }
      await pause(clock, firstPause * 2 ** (attempt - 1), signal);
    }
  }

  #check({ checksum }: ModuleRequest, digest: string): void {
    if (checksum === "" || checksum === digest) return;
    this.#options.events?.fetched?.("checksum_mismatched");
    throw new ChecksumError(`the checksum is ${digest}, not the expected ${checksum}`);
  }

  async #add(request: ModuleRequest, version: string, module: Buffer): Promise<StoredModule> {
    const { directory, clock, events } = this.#options;
    const path = join(directory, `${sha256(module)}.wasm`);
    await mkdir(directory, { recursive: true });
    // Envoy never reads half a file.
    await writeFile(`${path}.tmp`, module);
    await rename(`${path}.tmp`, path);
    const stored = { path, lastUsed: clock.now() };
    this.#modules.set(keyOf(request.url, version), stored);
    this.#remember(request, version);
    events?.fetched?.("success");
    events?.size?.(this.#modules.size);
    return stored;
  }

  #remember({ url, resourceName, resourceVersion }: ModuleRequest, checksum: string): void {
    const known = this.#known.get(url) ?? { checksum, versions: new Map<string, string>() };
    known.checksum = checksum;
    known.versions.set(resourceName, resourceVersion);
    this.#known.set(url, known);
  }

  async #removeExpired(): Promise<void> {
    const { clock, expiry, events } = this.#options;
    const now = clock.now();
    const expired = [...this.#modules].filter(([, { lastUsed }]) => now - lastUsed > expiry);
    if (expired.length === 0) return;
    for (const [key] of expired) this.#modules.delete(key);
    const kept = new Set(Array.from(this.#modules.values(), ({ path }) => path));
    await Promise.all(
      expired.flatMap(([, { path }]) => (kept.has(path) ? [] : [rm(path, { force: true }).catch(() => undefined)])),
    );
    events?.size?.(this.#modules.size);
  }

  #isInsecure(host: string): boolean {
    const { insecureHosts } = this.#options;
    return insecureHosts.includes("*") || insecureHosts.includes(host);
  }
}

class ChecksumError extends AgentError {
  constructor(message: string) {
    super("module", message);
  }
}

class PermanentError extends AgentError {
  constructor(message: string) {
    super("module", message);
  }
}

/** Reports whether a stored module is used whatever the version of the extension: always, except for `latest`. */
function isKept({ pullPolicy, url }: ModuleRequest): boolean {
  if (pullPolicy === "IfNotPresent" || pullPolicy === "Always") return pullPolicy === "IfNotPresent";
  return !url.startsWith("oci://") || parseImageReference(url.slice("oci://".length))?.version !== "latest";
}

/** Returns the digest in the URL of an image, in hexadecimal digits. */
function digestIn(url: string): string | undefined {
  return /^oci:.*@sha256:([a-f0-9]{64})$/.exec(url)?.[1];
}

function keyOf(url: string, version: string): string {
  return `${url.replace(/(?::[\w.-]+)?(?:@sha256:[a-f0-9]{64})?$/, "")} ${version}`;
}

/** Resolves after a time, or when the signal is aborted. */
function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, resolve);
    signal.addEventListener("abort", () => {
      cancel();
      resolve();
    });
  });
}

function withoutCredentials(url: string): string {
  return url.replace(/\/\/[^/@]*@/, "//");
}

function isNoTls(error: unknown): boolean {
  const code = (error as { readonly code?: unknown }).code;
  return code === "EPROTO" || (typeof code === "string" && code.startsWith("ERR_SSL"));
}

function failure(message: string): AgentError {
  return new AgentError("module", message);
}

function fail(message: string): never {
  throw failure(message);
}
