import { CaError } from "../errors.js";
import type { Clock } from "@istiod/runtime";
import { systemClock } from "@istiod/runtime";
import { signLeaf } from "./leaf.js";
import type { IssuedCertificate, LeafIssuer, LeafRequest } from "./leaf-issuer.js";
import { pemOf, type SigningBundle } from "./signing-bundle.js";
import { readSigningRequest } from "./signing-request.js";

export interface CertificateAuthorityOptions {
  readonly bundle: SigningBundle;
  /**
   * Lifetime of a leaf if the request names none, in milliseconds. Default: 24 hours (Istio's
   * DEFAULT_WORKLOAD_CERT_TTL).
   */
  readonly defaultLifetime?: number;
  /** Maximum lifetime that may be requested, in milliseconds. Default: 90 days (Istio's MAX_WORKLOAD_CERT_TTL). */
  readonly maxLifetime?: number;
  readonly clock?: Clock;
}

const hourMs = 3600 * 1000;

/** Signs leaf certificates with its own key. The signing bundle can be replaced at any time. */
export class CertificateAuthority implements LeafIssuer {
  readonly #clock: Clock;
  readonly #defaultLifetime: number;
  readonly #maxLifetime: number;
  readonly #listeners = new Set<(bundle: SigningBundle) => void>();
  #bundle: SigningBundle;

  constructor(options: CertificateAuthorityOptions) {
    this.#bundle = options.bundle;
    this.#clock = options.clock ?? systemClock;
    this.#defaultLifetime = options.defaultLifetime ?? 24 * hourMs;
    this.#maxLifetime = options.maxLifetime ?? 90 * 24 * hourMs;
  }

  /** The current signing bundle. */
  get bundle(): SigningBundle {
    return this.#bundle;
  }

  /** Replaces the signing bundle and notifies listeners. */
  use(bundle: SigningBundle): void {
    this.#bundle = bundle;
    for (const listener of [...this.#listeners]) listener(bundle);
  }

  /** Calls `listener` after each replacement of the bundle. Returns a function that removes the listener. */
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
    if (lifetime > this.#maxLifetime) {
      throw new CaError(
        "ttl",
        `requested lifetime of ${lifetime / 1000} s is longer than the ${this.#maxLifetime / 1000} s allowed`,
      );
    }
    const bundle = this.#bundle;
    const { key, publicKeyDer, wantsCommonName } = await readSigningRequest(request);
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
    return {
      certificate: leaf.pem,
      chain: bundle.chain,
      roots: bundle.rootsPem,
      notAfter: leaf.notAfter,
      serialNumber: leaf.serialNumber,
      key: key.description,
    };
  }

  /** Expiry times of the first root and the signing certificate, in milliseconds since the epoch. */
  expiry(): { root: number; signing: number } {
    const { roots, certificate } = this.#bundle;
    return { root: Date.parse((roots[0] ?? certificate).validTo), signing: Date.parse(certificate.validTo) };
  }

  /** The signing certificate in PEM. */
  get certificate(): string {
    return pemOf(this.#bundle.certificate);
  }
}
