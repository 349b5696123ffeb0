/** Address of the metadata server of all three clouds. */
export const METADATA_ADDRESS = "169.254.169.254";

/** An answer may be this large: Azure's has all tags of a machine. */
const MAX_BYTES = 256 * 1024;

export interface MetadataRequest {
  /** `http://host/path`, with the query. */
  readonly url: string;
  /** Default `GET`. */
  readonly method?: "GET" | "PUT";
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Returns the text of errors, too. Default: false. */
  readonly readsErrors?: boolean;
}

/** Returns a metadata server's answer; undefined without one, or for an error. */
export async function askMetadata(request: MetadataRequest): Promise<string | undefined> {
  try {
    const { url, method = "GET", headers = {}, timeoutMs, readsErrors = false } = request;
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(url, { method, headers, redirect: "error", signal });
    if (response.status !== 200 && !readsErrors) {
      await response.body?.cancel();
      return undefined;
    }
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const part of response.body ?? []) {
      bytes += part.length;
      if (bytes > MAX_BYTES) return undefined;
      parts.push(part);
    }
    return Buffer.concat(parts).toString("utf8").trim();
  } catch {
    return undefined;
  }
}
