/** An authenticated request. The caller of `sign` is responsible for the names. */
export interface LeafRequest {
  /** PKCS#10 in PEM. */
  readonly request: string;
  /** Subject alternative names: the authenticated identity. */
  readonly names: readonly string[];
  /** Milliseconds. Default if absent, zero or negative. */
  readonly lifetime?: number;
  /** Name of the external signer that the caller wants. Ignored by an authority that signs with its own key. */
  readonly signer?: string;
  /** Aborted once nobody waits for the certificate. */
  readonly signal?: AbortSignal;
}

export interface IssuedCertificate {
  /** PEM of the leaf. */
  readonly certificate: string;
  /** PEM of each certificate between the leaf and the roots, in order. */
  readonly chain: readonly string[];
  /** PEM of all roots. */
  readonly roots: string;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
  /** Serial number of the leaf in hexadecimal. */
  readonly serialNumber: string;
  /** Type and size of the leaf's key, such as `RSA 2048` or `P-256`. */
  readonly key: string;
}

/** Issues leaf certificates. */
export interface LeafIssuer {
  /** @throws CaError */
  sign(request: LeafRequest): Promise<IssuedCertificate>;
}
