/** What a proxy was sent and has answered, by type URL, as istiod has it. */
export interface ProxyStatus {
  readonly proxy: string;
  readonly resources?: Readonly<
    Record<string, { readonly sent?: string; readonly acked?: string; readonly lastError?: string }>
  >;
}

/** Asks istiod for the status of its proxies. */
export async function readStatus(istiod: string): Promise<readonly ProxyStatus[]> {
  return (await (await fetch(`http://${istiod}:8080/debug/syncz`)).json()) as ProxyStatus[];
}

/** Whether everything that was sent has been answered. */
export function acknowledged(proxies: readonly ProxyStatus[]): boolean {
  return proxies.every((p) =>
    Object.values(p.resources ?? {}).every(
      (r) => r.sent === undefined || r.sent === r.acked || r.lastError !== undefined,
    ),
  );
}
