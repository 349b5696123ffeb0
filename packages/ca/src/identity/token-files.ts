import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { CaError } from "../errors.js";
import { spiffeUri } from "./spiffe-identity.js";

/** A file with a valid token. */
export interface TokenFile {
  readonly path: string;
  /** SPIFFE URI of the token's bearer. */
  readonly uri: string;
}

/** A path in the token directory without a valid token. */
export interface UnusableToken {
  readonly path: string;
  /** Predicate of a sentence about the path: "is empty, expected …". Never contains the token. */
  readonly reason: string;
}

/** Contents of a token directory. */
export interface TokenFiles {
  /** By token digest. */
  readonly byDigest: ReadonlyMap<string, TokenFile>;
  readonly unusable: readonly UnusableToken[];
}

const minTokenLength = 16;
const expectedLayout = "expected NAMESPACE/SERVICEACCOUNT";

/**
 * Reads `<namespace>/<service account>` below a directory. Unusable files do not affect others.
 *
 * @throws CaError `store` if a directory cannot be read.
 */
export async function readTokenFiles(directory: string, trustDomain: string): Promise<TokenFiles> {
  const byDigest = new Map<string, TokenFile>();
  const unusable: UnusableToken[] = [];
  const namespaces = await names(directory);
  if (!Array.isArray(namespaces))
    return {
      byDigest,
      unusable: [{ path: directory, reason: namespaces.absent ? "does not exist" : "is a file, expected a directory" }],
    };
  for (const namespace of namespaces) {
    const accounts = await names(join(directory, namespace));
    if (!Array.isArray(accounts)) {
      unusable.push({
        path: join(directory, namespace),
        reason: `is not in the directory of a namespace, ${expectedLayout}`,
      });
      continue;
    }
    for (const serviceAccount of accounts) {
      const path = join(directory, namespace, serviceAccount);
      try {
        const uri = spiffeUri({ trustDomain, namespace, serviceAccount });
        const key = tokenDigest(await readToken(path)).toString("hex");
        const other = byDigest.get(key);
        if (other) unusable.push({ path, reason: `holds the same token as ${other.path}, which takes precedence` });
        else byDigest.set(key, { path, uri });
      } catch (error) {
        unusable.push({ path, reason: error instanceof CaError ? error.message : String(error) });
      }
    }
  }
  return { byDigest, unusable };
}

/**
 * Reads and checks a token.
 *
 * @throws CaError `malformed` whose message continues the path.
 */
export async function readToken(path: string): Promise<string> {
  const text = await readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw new CaError(
      "malformed",
      cause.code === "EISDIR" ? `is a directory, ${expectedLayout}` : `cannot be read: ${cause.message}`,
      { cause },
    );
  });
  const token = text.trim();
  if (token === "")
    throw new CaError("malformed", `is empty, expected a token of at least ${minTokenLength} characters`);
  if (token.length < minTokenLength)
    throw new CaError("malformed", `holds a token of ${token.length} characters, expected at least ${minTokenLength}`);
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new CaError(
      "malformed",
      "holds a token with spaces, line breaks or characters that are not ASCII, which no header can carry",
    );
  return token;
}

/** Hashes a token, so that the time of a lookup reveals nothing about it. */
export function tokenDigest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** Returns the entries of a directory without hidden ones, sorted, or the reason why there are none. */
async function names(directory: string): Promise<string[] | { readonly absent: boolean }> {
  try {
    return (await readdir(directory)).filter((name) => !name.startsWith(".")).sort();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return { absent: code === "ENOENT" };
    throw CaError.from(error, "store", `${directory} cannot be read`);
  }
}
