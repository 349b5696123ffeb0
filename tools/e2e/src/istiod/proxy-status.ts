/** The sent and acknowledged versions of a proxy by type URL, from /debug/syncz. */
export interface ProxyStatus {
  readonly proxy: string;
  readonly resources?: Readonly<
    Record<string, { readonly sent?: string; readonly acked?: string; readonly lastError?: string }>
  >;
}

/** Requests the status of all proxies from istiod. */
export async function readStatus(istiod: string): Promise<readonly ProxyStatus[]> {
  return (await (await fetch(`http://${istiod}:8080/debug/syncz`)).json()) as ProxyStatus[];
}

/** Reports whether every response has been acknowledged or rejected. */
export function acknowledged(proxies: readonly ProxyStatus[]): boolean {
  return proxies.every((p) =>
    Object.values(p.resources ?? {}).every(
      (r) => r.sent === undefined || r.sent === r.acked || r.lastError !== undefined,
    ),
  );
}
