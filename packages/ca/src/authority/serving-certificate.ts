import { createPublicKey } from "node:crypto";
import { type Clock, systemClock } from "@istiod/runtime";
import { CaError } from "../errors.js";
import { generateKey, type KeyType, keyTypeOf, privateKeyPem } from "../keys.js";
import type { SigningBundle, TrustSource } from "./signing-bundle.js";
import { signLeaf } from "./leaf.js";

/** A TLS server certificate, for `tls.createSecureContext({ key, cert })`. */
export interface ServingCertificate {
  /** PKCS#8 PEM. */
  readonly key: string;
  /** PEM of the leaf and the intermediates. */
  readonly cert: string;
  /** A second certificate with an RSA key, for clients that do not accept ECDSA. */
  readonly fallback?: { readonly key: string; readonly cert: string };
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
}

/**
 * Issues a key and certificate for a server in the CA's own process. The key is ECDSA, which signs about ten times as
 * fast as RSA: P-256, or P-384 if the CA's key is. A CA with an RSA key issues a second certificate with an
 * RSA key of the same size.
 *
 * @param names DNS names, IP addresses and SPIFFE URIs
 * @param lifetime milliseconds
 * @throws CaError `not-ready` or `signing`
 */
export async function issueServingCertificate(
  authority: { readonly bundle: SigningBundle },
  names: readonly string[],
  lifetime: number,
  now: number,
): Promise<ServingCertificate> {
  const { bundle } = authority;
  const signer = keyTypeOf(createPublicKey(bundle.privateKey), "malformed");
  const issue = async (type: KeyType) => {
    const key = await generateKey(type);
    const publicKeyDer = createPublicKey(key).export({ type: "spki", format: "der" });
    const leaf = await signLeaf({ publicKeyDer, names, commonName: false, now, lifetime }, bundle);
    return { key: privateKeyPem(key), cert: [leaf.pem, ...bundle.chain].join(""), notAfter: leaf.notAfter };
  };
  if (signer.type === "ecdsa") return issue(signer);
  const [certificate, { key, cert }] = await Promise.all([issue({ type: "ecdsa", curve: "P-256" }), issue(signer)]);
  return { ...certificate, fallback: { key, cert } };
}

/** An authority that issues serving certificates in its own way. */
export interface ServingAuthority extends TrustSource {
  /**
   * Issues a key and certificate for a server.
   *
   * @param lifetime milliseconds
   * @param now milliseconds since the epoch
   * @throws CaError
   */
  issueServingCertificate(names: readonly string[], lifetime: number, now: number): Promise<ServingCertificate>;
}

/** An authority that signs with its own key, or one that has others sign. */
export type AnyServingAuthority = (TrustSource & { readonly bundle: SigningBundle }) | ServingAuthority;

function issueFrom(
  authority: AnyServingAuthority,
  ...request: readonly [names: readonly string[], lifetime: number, now: number]
): Promise<ServingCertificate> {
  return "issueServingCertificate" in authority
    ? authority.issueServingCertificate(...request)
    : issueServingCertificate(authority, ...request);
}

/** A serving certificate with its renewal time. */
export interface RenewedCertificate extends ServingCertificate {
  /** Time of the next renewal, in milliseconds since the epoch. */
  readonly renewalDue: number;
}

export interface KeepServingOptions {
  readonly authority: AnyServingAuthority;
  readonly names: readonly string[];
  /** Milliseconds. Default: 24 hours. */
  readonly lifetime?: number;
  readonly clock?: Clock;
  /** Called with the first certificate, and with each renewal: at half the lifetime, and after a change of the CA. */
  readonly onCertificate: (certificate: RenewedCertificate) => void;
  /** Called after a failed renewal, which is retried after a minute. */
  readonly onError?: (error: CaError) => void;
}

const retryMs = 60 * 1000;

/**
 * Issues a server certificate and renews it.
 *
 * @returns a function that stops renewals; resolves after the first call of `onCertificate`
 * @throws CaError if the first certificate cannot be issued
 */
export async function keepServingCertificate(options: KeepServingOptions): Promise<() => void> {
  const { authority, names, lifetime = 24 * 3600 * 1000, clock = systemClock, onCertificate, onError } = options;
  let cancel: (() => void) | undefined;
  let stopped = false;
  let generation = 0;
  const renew = async (): Promise<void> => {
    const current = ++generation;
    cancel?.();
    const certificate = await issueFrom(authority, names, lifetime, clock.now());
    if (stopped || current !== generation) return;
    const delay = (certificate.notAfter - clock.now()) / 2;
    cancel = clock.after(delay, renewLater);
    onCertificate({ ...certificate, renewalDue: clock.now() + delay });
  };
  const renewLater = (): void => {
    renew().catch((error: unknown) => {
      if (stopped) return;
      cancel = clock.after(retryMs, renewLater);
      onError?.(CaError.from(error, "signing", "serving certificate"));
    });
  };
  await renew();
  const removeListener = authority.onChange(renewLater);
  return () => {
    stopped = true;
    removeListener();
    cancel?.();
  };
}

/**
 * Returns the DNS names of istiod's serving certificate, as in Istio: the Service `istiod` with its revision, its
 * legacy and remote names, and custom names (ISTIOD_CUSTOM_HOST).
 */
export function istiodNames(options: {
  namespace: string;
  revision?: string;
  discoveryHost?: string;
  customHosts?: readonly string[];
}): string[] {
  const { namespace, revision = "", discoveryHost, customHosts = [] } = options;
  const services = ["istiod", "istiod-remote", "istio-pilot"];
  if (revision !== "" && revision !== "default") services.push(`istiod-${revision}`);
  const names = [
    ...customHosts,
    ...(discoveryHost === undefined ? [] : [discoveryHost]),
    ...services.map((name) => `${name}.${namespace}.svc`),
  ];
  return [...new Set(names.filter((name) => name !== ""))];
}
