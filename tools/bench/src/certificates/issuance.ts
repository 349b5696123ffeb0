import { certificateRequest, connectCa, requestCertificate } from "./certificate-client.js";
import type { CallerReport, IssuanceOrder } from "./messages.js";

/** Counts failures by reason. */
export class Failures {
  readonly #counts = new Map<string, number>();

  add(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
  }

  byReason(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }
}

/** Requests certificates, and returns the time of each. */
export async function requestCertificates(order: IssuanceOrder): Promise<CallerReport> {
  const { target, count, parallel, connections } = order;
  const frames = order.requests.map(certificateRequest);
  const shared = connections === "each" ? [] : Array.from({ length: connections }, () => connectCa(target));
  const certificates: number[] = [];
  const failures = new Failures();
  let next = 0;
  const startedAt = performance.now();
  const caller = async (): Promise<void> => {
    for (let at = next++; at < count; at = next++) {
      const before = performance.now();
      const session = shared[at % shared.length] ?? connectCa(target);
      try {
        await requestCertificate(session, inTurn(frames, at), inTurn(order.tokens, at));
        certificates.push(performance.now() - before);
      } catch (error) {
        failures.add(error);
      } finally {
        if (connections === "each") session.close();
      }
    }
  };
  await Promise.all(Array.from({ length: parallel }, caller));
  const elapsed = performance.now() - startedAt;
  for (const session of shared) session.close();
  return { certificates, configured: [], elapsed, failures: failures.byReason() };
}

/** @throws RangeError if there are no values */
export function inTurn<T>(values: readonly T[], at: number): T {
  const value = values[at % values.length];
  if (value === undefined) throw new RangeError("expected at least one value");
  return value;
}
