import type { IncomingMessage } from "node:http";
import { StatusError } from "../http/status-error.js";
import type { UserInfo } from "../storage/server-state.js";

/** A user of a static token. */
export interface TokenUser {
  readonly username: string;
  readonly groups?: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export const authenticatedGroup = "system:authenticated";

/** Returns the identity of a user, with the group of all authenticated users. */
export function identityOf({ username, groups = [], uid, extra }: TokenUser): UserInfo {
  return {
    username,
    groups: [...new Set([...groups, authenticatedGroup])],
    ...(uid !== undefined && { uid }),
    ...(extra !== undefined && { extra }),
  };
}

/** Returns the bearer token of a request, undefined without one. */
export function bearerToken({ headers }: IncomingMessage): string | undefined {
  return /^Bearer\s+(\S+)$/i.exec(headers.authorization ?? "")?.[1];
}

export const unauthorized = (): StatusError => new StatusError(401, "Unauthorized", "Unauthorized");
