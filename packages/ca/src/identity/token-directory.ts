import { timingSafeEqual } from "node:crypto";
import { type Clock, systemClock } from "@istiod/runtime";
import { CaError } from "../errors.js";
import { type Authenticator, bearerToken } from "./authenticator.js";
import { TokenFileDigests } from "./token-file-digests.js";
import { readTokenFiles, tokenDigest, type TokenFiles, type UnusableToken } from "./token-files.js";

export interface TokenDirectoryOptions {
  /** Contains a file `<namespace>/<service account>` for each identity, with its token of at least 16 characters. */
  readonly directory: string;
  readonly trustDomain: string;
  /**
   * Milliseconds for which unknown tokens are rejected without reading the directory again. Default: 1000, so that
   * guessing does not cause disk reads.
   */
  readonly freshFor?: number;
  readonly clock?: Clock;
  /** Called for each unusable file; not repeated for the same problem. */
  readonly onUnusable?: (file: UnusableToken) => void;
}

/** Accepts the tokens of a directory. */
export interface TokenDirectory extends Authenticator {
  /**
   * Reads the directory, so that unusable files are reported before their tokens are presented.
   *
   * @throws CaError `store` if it cannot be read.
   */
  check(): Promise<void>;
}

/**
 * Accepts the tokens in a directory, for meshes without Kubernetes. Removed and changed tokens are rejected at once;
 * new tokens are accepted within `freshFor`.
 */
export function tokenDirectory(options: TokenDirectoryOptions): TokenDirectory {
  const { directory, trustDomain, freshFor = 1000, clock = systemClock, onUnusable } = options;
  let files: TokenFiles = { byDigest: new Map(), unusable: [] };
  const digests = new TokenFileDigests(clock);
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  const read = async (): Promise<void> => {
    readAt = clock.now();
    try {
      const before = new Set(files.unusable.map(faultKey));
      files = await readTokenFiles(directory, trustDomain);
      for (const fault of files.unusable) if (!before.has(faultKey(fault))) onUnusable?.(fault);
    } finally {
      reading = undefined;
    }
  };
  return {
    name: "token directory",
    check: () => (reading ??= read()),
    async authenticate(credentials) {
      const token = bearerToken(credentials);
      if (token === undefined) return undefined;
      const digest = tokenDigest(token);
      const key = digest.toString("hex");
      if (!files.byDigest.has(key) && (reading || clock.now() - readAt >= freshFor)) await (reading ??= read());
      const file = files.byDigest.get(key);
      const current = file && (await digests.of(file).catch(() => undefined));
      if (!file || current === undefined || !timingSafeEqual(current, digest)) {
        throw new CaError("unauthenticated", `token not in ${directory}`);
      }
      return { identities: [file.uri], by: this.name };
    },
  };
}

function faultKey({ path, reason }: UnusableToken): string {
  return JSON.stringify([path, reason]);
}
