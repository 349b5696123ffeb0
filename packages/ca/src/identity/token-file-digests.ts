import { stat } from "node:fs/promises";
import type { Clock } from "@istiod/runtime";
import { readToken, tokenDigest, type TokenFile } from "./token-files.js";

/**
 * Age of a file's last change from which its timestamps tell whether it changes again. The timestamps of file systems
 * have a granularity of milliseconds up to a second.
 */
const settledMs = 2000;

interface KnownDigest {
  readonly version: string;
  readonly digest: Buffer;
}

/** Digests of the tokens in files. A file is read again only if it may have changed. */
export class TokenFileDigests {
  readonly #clock: Pick<Clock, "now">;
  readonly #read: (path: string) => Promise<string>;
  readonly #known = new WeakMap<TokenFile, KnownDigest>();

  /** @param read Default: {@link readToken}. */
  constructor(clock: Pick<Clock, "now">, read = readToken) {
    this.#clock = clock;
    this.#read = read;
  }

  /**
   * Returns the digest of the token that a file holds now.
   *
   * @throws Error if it is absent, or CaError `malformed` if it holds none
   */
  async of(file: TokenFile): Promise<Buffer> {
    // A change between the two calls gives the file another version than that of the content.
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(file.path);
    const version = [dev, ino, size, mtimeMs, ctimeMs].join();
    const known = this.#known.get(file);
    if (known?.version === version) return known.digest;
    const digest = tokenDigest(await this.#read(file.path));
    if (this.#clock.now() - ctimeMs >= settledMs) this.#known.set(file, { version, digest });
    else this.#known.delete(file);
    return digest;
  }
}
