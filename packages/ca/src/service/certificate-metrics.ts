import type { Meter } from "@istiod/metrics";
import type { TrustSource } from "../authority/signing-bundle.js";
import { revocationExpiry, revocationFault } from "../revocation/bundle-lists.js";
import type { CertificateCalls } from "./certificate-calls.js";
import type { CertificateEvents } from "./certificate-events.js";
import { signErrorLabel } from "./sign-error-label.js";

/** An authority whose certificates expire, in milliseconds since the epoch; undefined if they are not known. */
export interface ExpiringAuthority {
  expiry(): { readonly root?: number | undefined; readonly signing?: number | undefined };
}

/** Returns the events of a certificate service that count in Istio's metrics, and registers the authority's expiry. */
export function certificateMetrics(
  meter: Meter,
  authority: ExpiringAuthority,
  now: () => number = Date.now,
): CertificateEvents {
  const counter = (name: string, help: string) => meter.counter({ name: `citadel_server_${name}`, help });
  const requested = counter("csr_count", "Certificate signing requests received.");
  const unauthenticated = counter("authentication_failure_count", "Requests whose caller is not authenticated.");
  const notParsed = counter(
    "csr_parsing_err_count",
    "Certificate signing requests that cannot be read, or are not signed by their key.",
  );
  const issued = counter("success_cert_issuance_count", "Certificates issued.");
  const failed = meter.counter({
    name: "citadel_server_csr_sign_err_count",
    help: "Requests that could not be signed.",
    labels: ["error"],
  });
  const rejected = meter.counter({
    name: "istiod_certificate_requests_rejected",
    help: "Certificate requests that were turned away before signing, by reason.",
    labels: ["reason"],
  });
  const expiry = (name: string, subject: string, timestampMs: () => number | undefined): void => {
    const seconds = (from: () => number) => (): number | readonly [] => {
      const timestamp = timestampMs();
      return timestamp === undefined ? [] : (timestamp - from()) / 1000;
    };
    meter.observeGauge(
      { name: `citadel_server_${name}_expiry_timestamp`, help: `The ${subject} expires, in Unix seconds.` },
      seconds(() => 0),
    );
    meter.observeGauge(
      { name: `citadel_server_${name}_expiry_seconds`, help: `Seconds until the ${subject} expires.` },
      seconds(now),
    );
  };
  expiry("root_cert", "root certificate", () => authority.expiry().root);
  expiry("cert_chain", "signing certificate", () => authority.expiry().signing);
  return {
    requested: () => requested.add(),
    authenticationFailed: () => unauthenticated.add(),
    issued: () => issued.add(),
    rejected: (reason) => rejected.add({ reason }),
    signingFailed: (error) => {
      if (error.code === "csr") notParsed.add();
      failed.add({ error: signErrorLabel(error.code) });
    },
  };
}

/** Registers the state of an authority's revocation lists. Without lists, the metrics have no series. */
export function observeRevocationLists(
  meter: Meter,
  authority: Pick<TrustSource, "bundle">,
  now: () => number = Date.now,
): void {
  meter.observeGauge(
    {
      name: "istiod_revocation_lists_valid",
      help: "1 if the revocation lists of the plugged-in CA are used and current, 0 if they are rejected or expired.",
    },
    () => {
      const { bundle } = authority;
      if (bundle.revocationLists.length === 0 && bundle.revocationProblem === undefined) return [];
      return revocationFault(bundle, now()) === undefined ? 1 : 0;
    },
  );
  meter.observeGauge(
    {
      name: "istiod_revocation_lists_expiry_timestamp",
      help: "The first of the active revocation lists expires, in Unix seconds.",
    },
    () => {
      const expiry = revocationExpiry(authority.bundle.revocationLists);
      return expiry === undefined ? [] : expiry / 1000;
    },
  );
}

/** Registers the length of the queue of certificate requests. */
export function observeQueue(meter: Meter, { queueLength }: Pick<CertificateCalls, "queueLength">): void {
  meter.observeGauge(
    { name: "istiod_certificate_queue_length", help: "Authenticated certificate requests that wait to be signed." },
    queueLength,
  );
}
