import { createPublicKey } from "node:crypto";
import { type Clock, systemClock } from "../clock.js";
import { CaError } from "../errors.js";
import { generateKey, kindOf, privateKeyPem } from "../keys.js";
import type { CertificateAuthority } from "./certificate-authority.js";
import { signLeaf } from "./leaf.js";

/** What a TLS server needs: `tls.createSecureContext({ key, cert })`. */
export interface ServingCertificate {
  /** PKCS#8 PEM. */
  readonly key: string;
  /** PEM of the leaf and the certificates between it and the root. */
  readonly cert: string;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
}

/**
 * Issues a key and certificate for a server of the CA's own, with a key of the kind that the CA itself has.
 *
 * @param names DNS names, IP addresses and SPIFFE URIs
 * @param lifetime milliseconds
 * @throws CaError `not-ready` or `signing`
 */
export async function issueServingCertificate(
  authority: CertificateAuthority,
  names: readonly string[],
  lifetime: number,
  now: number,
): Promise<ServingCertificate> {
  const { bundle } = authority;
  const key = await generateKey(kindOf(createPublicKey(bundle.privateKey), "malformed"));
  const publicKeyDer = createPublicKey(key).export({ type: "spki", format: "der" });
  const leaf = await signLeaf({ publicKeyDer, names, commonName: false, now, lifetime }, bundle);
  return { key: privateKeyPem(key), cert: [leaf.pem, ...bundle.chain].join(""), notAfter: leaf.notAfter };
}

/** A serving certificate that is renewed. */
export interface KeptCertificate extends ServingCertificate {
  /** When it is renewed, in milliseconds since the epoch. */
  readonly renewalDue: number;
}

export interface KeepServingOptions {
  readonly authority: CertificateAuthority;
  readonly names: readonly string[];
  /** Milliseconds. Default: 24 hours. */
  readonly lifetime?: number;
  readonly clock?: Clock;
  /** Called with the first certificate, at each half of a lifetime, and after each change of the CA. */
  readonly onCertificate: (certificate: KeptCertificate) => void;
  /** A renewal that failed; it is tried again after a minute. */
  readonly onError?: (error: CaError) => void;
}

const RETRY = 60 * 1000;

/**
 * Keeps a server's certificate fresh.
 *
 * @returns ends it; resolved after the first certificate was given
 * @throws CaError when the first one cannot be issued
 */
export async function keepServingCertificate(options: KeepServingOptions): Promise<() => void> {
  const { authority, names, lifetime = 24 * 3600 * 1000, clock = systemClock, onCertificate, onError } = options;
  let cancel: (() => void) | undefined;
  let ended = false;
  let round = 0;
  const renew = async (): Promise<void> => {
    const mine = ++round;
    cancel?.();
    const certificate = await issueServingCertificate(authority, names, lifetime, clock.now());
    if (ended || mine !== round) return;
    const delay = (certificate.notAfter - clock.now()) / 2;
    cancel = clock.after(delay, renewLater);
    onCertificate({ ...certificate, renewalDue: clock.now() + delay });
  };
  const renewLater = (): void => {
    renew().catch((error: unknown) => {
      if (ended) return;
      cancel = clock.after(RETRY, renewLater);
      onError?.(CaError.from(error, "signing", "serving certificate"));
    });
  };
  await renew();
  const forget = authority.onChange(renewLater);
  return () => {
    ended = true;
    forget();
    cancel?.();
  };
}

/**
 * The names under which proxies and webhooks reach istiod, as Istio's own certificate has them: the Service `istiod`
 * with its revision, its older and remote names, and those that an operator adds (ISTIOD_CUSTOM_HOST).
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
