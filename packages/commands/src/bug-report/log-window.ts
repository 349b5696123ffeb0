import type { ApiClient } from "@istiod/kubernetes";

/** The part of a container's log that a report has. */
export interface LogWindow {
  /** Milliseconds since the Unix epoch. Default: everything. */
  readonly from?: number | undefined;
  /** Default: now. */
  readonly to?: number | undefined;
  /** Number of last lines. Default: all. */
  readonly tail?: number | undefined;
}

/**
 * Returns the log of a container.
 *
 * @throws ApiError
 */
export async function containerLog(
  client: ApiClient,
  place: { readonly namespace: string; readonly pod: string; readonly container: string },
  { from, to, tail, signal }: LogWindow & { readonly signal?: AbortSignal },
): Promise<string> {
  const { body } = await client.send({
    path: `/api/v1/namespaces/${place.namespace}/pods/${place.pod}/log`,
    accept: "*/*",
    query: {
      container: place.container,
      timestamps: to === undefined ? undefined : true,
      sinceTime: from === undefined ? undefined : new Date(from).toISOString(),
      tailLines: tail,
    },
    ...(signal && { signal }),
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  return to === undefined ? text : until(text, to);
}

/** Returns the lines that the kubelet stamped with a time up to a limit, without the stamps. */
function until(text: string, limit: number): string {
  return text
    .split("\n")
    .flatMap((line) => {
      const space = line.indexOf(" ");
      const time = Date.parse(line.slice(0, space));
      return time <= limit ? [`${line.slice(space + 1)}\n`] : [];
    })
    .join("");
}
