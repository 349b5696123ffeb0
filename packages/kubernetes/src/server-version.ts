import { ApiError } from "./api-error.js";
import type { ApiClient } from "./client/api-client.js";

/** The version of an API server. */
export interface ServerVersion {
  readonly major: number;
  readonly minor: number;
  /** For example `v1.37.2-gke.100`. */
  readonly gitVersion: string;
}

/**
 * Reads the version of an API server, for decisions about features.
 *
 * @throws ApiError, `malformed` if the answer has no version
 */
export async function readServerVersion(client: ApiClient, signal?: AbortSignal): Promise<ServerVersion> {
  const answer = await client.json<{ major?: string; minor?: string; gitVersion?: string } | null>({
    path: "/version",
    ...(signal && { signal }),
  });
  // Distributions append characters to the minor version, such as "27+".
  const [major, minor] = [leadingNumber(answer?.major), leadingNumber(answer?.minor)];
  if (major === undefined || minor === undefined || typeof answer?.gitVersion !== "string") {
    const found = JSON.stringify(answer)?.slice(0, 200);
    throw new ApiError("malformed", `GET /version: expected major, minor and gitVersion, got ${found}`);
  }
  return { major, minor, gitVersion: answer.gitVersion };
}

/** Reports whether a server has at least a version, for example `1.32`. */
export function isAtLeast({ major, minor }: ServerVersion, atLeastMajor: number, atLeastMinor: number): boolean {
  return major > atLeastMajor || (major === atLeastMajor && minor >= atLeastMinor);
}

function leadingNumber(text: unknown): number | undefined {
  const digits = typeof text === "string" ? /^\d+/.exec(text)?.[0] : undefined;
  return digits === undefined ? undefined : Number(digits);
}
