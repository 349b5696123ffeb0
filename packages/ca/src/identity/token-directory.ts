import { createHash, timingSafeEqual } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, systemClock } from "../clock.js";
import { CaError } from "../errors.js";
import { type Authenticator, bearerToken } from "./authenticator.js";
import { spiffeUri } from "./spiffe-identity.js";

export interface TokenDirectoryOptions {
  /** Holds `<namespace>/<service account>`: one file an identity, its content the token. */
  readonly directory: string;
  readonly trustDomain: string;
  /** Milliseconds for which an unknown token is answered from what was last read. Default: 1000, so that guessing costs no disk. */
  readonly freshFor?: number;
  readonly clock?: Clock;
}

const SHORTEST_TOKEN = 16;

/**
 * Accepts the tokens in a directory, for a mesh on machines without Kubernetes. A file that is added, changed or removed
 * counts at once for its own token and after `freshFor` for a new one; nothing needs a restart.
 */
export function tokenDirectory(options: TokenDirectoryOptions): Authenticator {
  const { directory, trustDomain, freshFor = 1000, clock = systemClock } = options;
  let index = new Map<string, TokenFile>();
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  const read = async (): Promise<void> => {
    readAt = clock.now();
    try {
      index = await readIndex(directory, trustDomain);
    } finally {
      reading = undefined;
    }
  };
  return {
    name: "token directory",
    async authenticate(credentials) {
      const token = bearerToken(credentials);
      if (token === undefined) return undefined;
      const key = digest(token).toString("hex");
      if (!index.has(key) && (reading || clock.now() - readAt >= freshFor)) await (reading ??= read());
      const file = index.get(key);
      const still = file && (await readToken(file.path));
      if (!file || still === undefined || !timingSafeEqual(digest(still), digest(token))) {
        throw new CaError("unauthenticated", `token not in ${directory}`);
      }
      return { identities: [file.uri], by: this.name };
    },
  };
}

interface TokenFile {
  readonly path: string;
  readonly uri: string;
}

async function readIndex(directory: string, trustDomain: string): Promise<Map<string, TokenFile>> {
  const index = new Map<string, TokenFile>();
  for (const namespace of await names(directory)) {
    for (const serviceAccount of await names(join(directory, namespace))) {
      const path = join(directory, namespace, serviceAccount);
      const token = await readToken(path);
      if (token !== undefined) index.set(digest(token).toString("hex"), { path, uri: spiffeUri({ trustDomain, namespace, serviceAccount }) });
    }
  }
  return index;
}

/** Entries of a directory but hidden ones; none where it is no directory. */
async function names(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).filter((name) => !name.startsWith("."));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw CaError.from(error, "store", `${directory} cannot be read`);
  }
}

/** A token that may be accepted: a half-written or empty file gives none. */
async function readToken(path: string): Promise<string | undefined> {
  try {
    const token = (await readFile(path, "utf8")).trim();
    return token.length >= SHORTEST_TOKEN ? token : undefined;
  } catch {
    return undefined;
  }
}

function digest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
