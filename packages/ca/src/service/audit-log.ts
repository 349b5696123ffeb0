import { addressGroup } from "@istiod/peer-address";
import { type Clock, systemClock } from "@istiod/runtime";
import type { CaError } from "../errors.js";
import type { Caller } from "../identity/authenticator.js";
import type { Peer } from "../identity/peer.js";
import type { CertificateEvents } from "./certificate-events.js";

/** Fields of a line. */
export type AuditLine = Readonly<Record<string, string | number | readonly string[]>>;

export interface AuditLogOptions {
  readonly info: (line: AuditLine, message: string) => void;
  readonly warn: (line: AuditLine, message: string) => void;
  /** Lines about refused requests in a period: for each address or /64 network, and in total. Default 10 and 200. */
  readonly refusals?: { readonly perPeer: number; readonly total: number };
  /** Milliseconds. Default: one minute. */
  readonly periodMs?: number;
  readonly clock?: Clock;
}

/** Longest reason in a line, in characters. It may quote what the caller sent. */
const maxReasonLength = 300;

/**
 * Returns the events of a certificate service that write a line for each certificate issued. Lines about refused
 * requests are limited, because any stranger can cause them; a line at the end of a period has the number left out.
 */
export function certificateAuditLog(options: AuditLogOptions): CertificateEvents {
  const { info } = options;
  const refused = refusalLog(options);
  return {
    issued: ({ names, caller, peer, key, serialNumber, notAfter, durationMs }) =>
      info(
        {
          ...callerFields(caller),
          peer: endpoint(peer),
          names,
          key,
          serialNumber,
          notAfter: new Date(notAfter).toISOString(),
          ms: Math.round(durationMs),
        },
        "certificate issued",
      ),
    authenticationFailed: (error, peer) => refused(peer, { ...failureFields(error) }),
    signingFailed: (error, caller, peer) => refused(peer, { ...callerFields(caller), ...failureFields(error) }),
    rejected: (reason, peer, caller) => refused(peer, { ...(caller && callerFields(caller)), reason }),
  };
}

function callerFields({ identities, by }: Caller): AuditLine {
  return { caller: identities[0] ?? "", authenticatedBy: by };
}

function failureFields({ code, message }: CaError): AuditLine {
  return { code, reason: message.length > maxReasonLength ? `${message.slice(0, maxReasonLength)}…` : message };
}

function endpoint({ address, port }: Peer): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

function refusalLog(options: AuditLogOptions): (peer: Peer, line: AuditLine) => void {
  const { warn, clock = systemClock, periodMs = 60_000, refusals = { perPeer: 10, total: 200 } } = options;
  const written = new Map<string, number>();
  let total = 0;
  let left = 0;
  const endPeriod = (): void => {
    if (left > 0) warn({ count: left }, "further certificate requests refused");
    written.clear();
    total = left = 0;
  };
  return (peer, line) => {
    if (total + left === 0) clock.after(periodMs, endPeriod);
    const group = addressGroup(peer.address);
    const own = written.get(group) ?? 0;
    if (total >= refusals.total || own >= refusals.perPeer) {
      left++;
      return;
    }
    total++;
    written.set(group, own + 1);
    warn({ peer: endpoint(peer), ...line }, "certificate request refused");
  };
}
