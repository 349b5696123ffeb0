import { type Clock, reasonOf } from "@istiod/runtime";
import { Backoff } from "@istiod/runtime";
import { AgentError } from "../errors.js";

/** Address of Google Compute Engine's metadata server. */
export const METADATA_HOST = "169.254.169.254";

/** Milliseconds for one request, as in Google's client library. */
const TIMEOUT = 5000;
/** Repetitions of a request that failed for a passing reason. */
const MAX_RETRIES = 5;
/** A token has one or two kilobytes. */
const MAX_TOKEN_BYTES = 64 * 1024;

export interface InstanceTokenRequest {
  /** `host` or `host:port`. */
  readonly host: string;
  readonly audience: string;
  readonly clock: Clock;
}

/** A failure that may pass. */
class TransientError extends Error {}

/**
 * Requests an identity token of the instance. Network errors and the statuses 429 and 5xx are retried five times, with
 * growing delays.
 *
 * @throws AgentError `authority`
 */
export async function fetchInstanceToken({ host, audience, clock }: InstanceTokenRequest): Promise<string> {
  const path = "computeMetadata/v1/instance/service-accounts/default/identity";
  const url = `http://${host}/${path}?audience=${encodeURIComponent(audience)}&format=full`;
  const backoff = new Backoff({ initialMs: 100 });
  for (let retries = 0; ; retries++) {
    try {
      return await requestToken(url);
    } catch (error) {
      if (!(error instanceof TransientError) || retries === MAX_RETRIES)
        throw AgentError.from(error, "authority", `metadata server ${host}: no identity token of the instance`);
      await new Promise<void>((resolve) => void clock.after(backoff.next(), resolve));
    }
  }
}

async function requestToken(url: string): Promise<string> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      headers: { "metadata-flavor": "Google" },
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT),
    });
    text = await readText(response);
  } catch (error) {
    if (error instanceof RangeError) throw error;
    throw new TransientError(reasonOf(error instanceof Error && error.cause !== undefined ? error.cause : error));
  }
  if (response.status === 429 || response.status >= 500) throw new TransientError(`HTTP status ${response.status}`);
  if (response.status !== 200) throw new Error(`HTTP status ${response.status}`);
  const token = text.trim();
  if (!/^[\x21-\x7e]+$/.test(token)) throw new Error("the response is not a token");
  return token;
}

/** Reads a body. @throws RangeError if it is too large */
async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += (chunk as Uint8Array).byteLength;
    if (size > MAX_TOKEN_BYTES) throw new RangeError(`the response is larger than ${MAX_TOKEN_BYTES} bytes`);
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks).toString();
}
