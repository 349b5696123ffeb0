import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ProxyPlace } from "../mesh/proxies.js";

/** Bearer tokens of the proxies' service accounts, in the layout of istiod's `--tokensDir`. */
export interface Tokens {
  readonly directory: string;
  of(place: ProxyPlace): string;
}

export async function writeTokens(directory: string, places: readonly ProxyPlace[]): Promise<Tokens> {
  const tokens = new Map<string, string>();
  const account = ({ namespace, serviceAccount }: ProxyPlace): string => join(namespace, serviceAccount);
  for (const place of places) {
    if (tokens.has(account(place))) continue;
    const token = randomBytes(24).toString("base64url");
    tokens.set(account(place), token);
    await mkdir(join(directory, place.namespace), { recursive: true });
    await writeFile(join(directory, account(place)), token, { mode: 0o600 });
  }
  return { directory, of: (place) => tokens.get(account(place)) ?? "" };
}
