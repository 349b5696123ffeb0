import { CaError } from "../errors.js";
import type { Clock } from "../clock.js";
import { systemClock } from "../clock.js";
import { signLeaf } from "./leaf.js";
import { pemOf, type SigningBundle } from "./signing-bundle.js";
import { readSigningRequest } from "./signing-request.js";

export interface CertificateAuthorityOptions {
  readonly bundle: SigningBundle;
  /**
   * Lifetime of a leaf whose requester names none, in milliseconds. Default: 24 hours (Istio's
   * DEFAULT_WORKLOAD_CERT_TTL).
   */
  readonly defaultLifetime?: number;
  /** Longest lifetime that may be asked for, in milliseconds. Default: 90 days (Istio's MAX_WORKLOAD_CERT_TTL). */
  readonly longestLifetime?: number;
  readonly clock?: Clock;
}

/** A request that has been authenticated: whoever calls `sign` answers for the names. */
export interface LeafRequest {
  /** PKCS#10 in PEM. Only its key is used. */
  readonly request: string;
  /** The names that the certificate will say: the authenticated identity. */
  readonly names: readonly string[];
  /** Milliseconds; absent, zero or less: the default. */
  readonly lifetime?: number;
}

export interface IssuedCertificate {
  /** PEM of the leaf. */
  readonly certificate: string;
  /** PEM of each certificate between the leaf and the roots, in order. */
  readonly chain: readonly string[];
  /** PEM of the roots, one text. */
  readonly roots: string;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
}

const HOUR = 3600 * 1000;

/** Signs leaf certificates with a bundle that may be exchanged while it works. */
export class CertificateAuthority {
  readonly #clock: Clock;
  readonly #defaultLifetime: number;
  readonly #longestLifetime: number;
  readonly #listeners = new Set<(bundle: SigningBundle) => void>();
  #bundle: SigningBundle;

  constructor(options: CertificateAuthorityOptions) {
    this.#bundle = options.bundle;
    this.#clock = options.clock ?? systemClock;
    this.#defaultLifetime = options.defaultLifetime ?? 24 * HOUR;
    this.#longestLifetime = options.longestLifetime ?? 90 * 24 * HOUR;
  }

  /** What signs at present. */
  get bundle(): SigningBundle {
    return this.#bundle;
  }

  /** Signs with another bundle from now on and tells everyone who listens. */
  use(bundle: SigningBundle): void {
    this.#bundle = bundle;
    for (const listener of [...this.#listeners]) listener(bundle);
  }

  /** Calls `listener` after each exchange of the bundle; the function given back ends that. */
  onChange(listener: (bundle: SigningBundle) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Signs a leaf with the given names for the key of the request.
   *
   * @throws CaError `csr`, `ttl`, `not-ready` or `signing`
   */
  async sign({ request, names, lifetime = 0 }: LeafRequest): Promise<IssuedCertificate> {
    if (lifetime > this.#longestLifetime) {
      throw new CaError(
        "ttl",
        `requested lifetime of ${lifetime / 1000} s is longer than the ${this.#longestLifetime / 1000} s allowed`,
      );
    }
    const bundle = this.#bundle;
    const { publicKeyDer, wantsCommonName } = await readSigningRequest(request);
    const leaf = await signLeaf(
      {
        publicKeyDer,
        names,
        commonName: wantsCommonName,
        now: this.#clock.now(),
        lifetime: lifetime > 0 ? lifetime : this.#defaultLifetime,
      },
      bundle,
    );
    return { certificate: leaf.pem, chain: bundle.chain, roots: bundle.rootsPem, notAfter: leaf.notAfter };
  }

  /** When the first root and the signing certificate expire, in milliseconds since the epoch. */
  expiry(): { root: number; signing: number } {
    const { roots, certificate } = this.#bundle;
    return { root: Date.parse((roots[0] ?? certificate).validTo), signing: Date.parse(certificate.validTo) };
  }

  /** The certificate that signs, in PEM. */
  get certificate(): string {
    return pemOf(this.#bundle.certificate);
  }
}
