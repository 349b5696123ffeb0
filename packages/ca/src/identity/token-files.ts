import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { CaError } from "../errors.js";
import { spiffeUri } from "./spiffe-identity.js";

/** A file whose token is accepted. */
export interface TokenFile {
  readonly path: string;
  /** The SPIFFE URI that its bearer has. */
  readonly uri: string;
}

/** A path in the directory of tokens that gives nobody an identity, and why. */
export interface UnusableToken {
  readonly path: string;
  /** Continues the path: "is empty, expected …". Never holds the token. */
  readonly reason: string;
}

/** What a directory of tokens holds. */
export interface TokenFiles {
  /** By the digest of their tokens. */
  readonly byDigest: ReadonlyMap<string, TokenFile>;
  readonly unusable: readonly UnusableToken[];
}

const SHORTEST_TOKEN = 16;
const LAYOUT = "expected NAMESPACE/SERVICEACCOUNT";

/**
 * Reads `<namespace>/<service account>` below a directory. A file that cannot be used takes no other with it.
 *
 * @throws CaError `store` where a directory cannot be read.
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
      unusable.push({ path: join(directory, namespace), reason: `is not in the directory of a namespace, ${LAYOUT}` });
      continue;
    }
    for (const serviceAccount of accounts) {
      const path = join(directory, namespace, serviceAccount);
      try {
        const uri = spiffeUri({ trustDomain, namespace, serviceAccount });
        const key = tokenDigest(await readToken(path)).toString("hex");
        const other = byDigest.get(key);
        if (other)
          unusable.push({ path, reason: `holds the same token as ${other.path}, which is the one that counts` });
        else byDigest.set(key, { path, uri });
      } catch (error) {
        unusable.push({ path, reason: error instanceof CaError ? error.message : String(error) });
      }
    }
  }
  return { byDigest, unusable };
}

/**
 * Reads a token that may be accepted.
 *
 * @throws CaError `malformed` whose message continues the path.
 */
export async function readToken(path: string): Promise<string> {
  const text = await readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw new CaError(
      "malformed",
      cause.code === "EISDIR" ? `is a directory, ${LAYOUT}` : `cannot be read: ${cause.message}`,
      { cause },
    );
  });
  const token = text.trim();
  if (token === "")
    throw new CaError("malformed", `is empty, expected a token of at least ${SHORTEST_TOKEN} characters`);
  if (token.length < SHORTEST_TOKEN)
    throw new CaError("malformed", `holds a token of ${token.length} characters, expected at least ${SHORTEST_TOKEN}`);
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new CaError(
      "malformed",
      "holds a token with spaces, line breaks or characters that are not ASCII, which no header can carry",
    );
  return token;
}

/** Hashes a token, so that the time of a look-up tells nothing about it. */
export function tokenDigest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** Entries of a directory but hidden ones, in order, or why there are none. */
async function names(directory: string): Promise<string[] | { readonly absent: boolean }> {
  try {
    return (await readdir(directory)).filter((name) => !name.startsWith(".")).sort();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return { absent: code === "ENOENT" };
    throw CaError.from(error, "store", `${directory} cannot be read`);
  }
}
