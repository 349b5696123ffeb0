import { setTimeout as sleep } from "node:timers/promises";
import { ports } from "./mesh.js";

interface Status {
  readonly proxy: string;
  readonly resources?: Readonly<Record<string, { readonly sent?: string; readonly acked?: string; readonly lastError?: string }>>;
}

/** How long after a moment every proxy had acknowledged what it was sent, and how many were sent something. */
export interface Convergence {
  readonly milliseconds: number;
  readonly touched: number;
  readonly refused: readonly string[];
}

/** What the proxies have, by istiod's own account. */
export async function readStatus(): Promise<Status[]> {
  return (await (await fetch(`http://127.0.0.1:${ports.http}/debug/syncz`)).json()) as Status[];
}

/** Waits until proxies were sent something that they did not have before, and all of them have acknowledged it. Undefined: nothing was sent. */
export async function convergence(before: readonly Status[], savedAt: number, withinMs = 5000): Promise<Convergence | undefined> {
  const old = new Map(before.map((s) => [s.proxy, s]));
  let last: Convergence | undefined;
  let quietSince = Date.now();
  while (Date.now() - savedAt < withinMs) {
    const now = await readStatus();
    const touched = now.filter((s) => sent(s) !== sent(old.get(s.proxy)));
    const waiting = now.filter((s) => Object.values(s.resources ?? {}).some((r) => r.sent !== undefined && r.sent !== r.acked && r.lastError === undefined));
    const refused = now.flatMap((s) => Object.values(s.resources ?? {}).flatMap((r) => (r.lastError === undefined ? [] : [`${s.proxy}: ${r.lastError}`])));
    if (touched.length > (last?.touched ?? 0) && waiting.length === 0) {
      last = { milliseconds: Date.now() - savedAt, touched: touched.length, refused };
      quietSince = Date.now();
    }
    if (last && Date.now() - quietSince > 300) return last;
    await sleep(10);
  }
  return last;
}

function sent(s: Status | undefined): string {
  return s === undefined ? "" : Object.values(s.resources ?? {}).map((r) => r.sent).join(" ");
}
