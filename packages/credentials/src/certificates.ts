/** The entries of a Secret, or of a ConfigMap as bytes. */
export type SecretEntries = Readonly<Record<string, Uint8Array>>;

export interface KeyPair {
  readonly chain: Uint8Array;
  readonly key: Uint8Array;
  readonly ocspStaple?: Uint8Array;
}

export interface RootCertificates {
  readonly certificates: Uint8Array;
  readonly crl?: Uint8Array;
}

/**
 * Returns a key and its certificate: the entries `key` and `cert`, or those of Kubernetes' TLS Secrets. Undefined if
 * neither pair is complete.
 */
export function findKeyPair(entries: SecretEntries): KeyPair | undefined {
  const generic = pair(entries, "cert", "key");
  if (generic !== undefined) return generic;
  const tls = pair(entries, "tls.crt", "tls.key");
  const ocspStaple = nonEmptyEntry(entries, "tls.ocsp-staple");
  return tls && (ocspStaple === undefined ? tls : { ...tls, ocspStaple });
}

/** Returns root certificates and their CRL: the entries `cacert` and `crl`, or `ca.crt` and `ca.crl`. */
export function findRootCertificates(entries: SecretEntries): RootCertificates | undefined {
  for (const [name, revoked] of [
    ["cacert", "crl"],
    ["ca.crt", "ca.crl"],
  ] as const) {
    const certificates = nonEmptyEntry(entries, name);
    const crl = nonBlankEntry(entries, revoked);
    if (certificates !== undefined) return crl === undefined ? { certificates } : { certificates, crl };
  }
  return undefined;
}

function pair(entries: SecretEntries, chainName: string, keyName: string): KeyPair | undefined {
  const chain = nonEmptyEntry(entries, chainName);
  const key = nonEmptyEntry(entries, keyName);
  return chain && key && { chain, key };
}

/** Returns an entry of text; undefined if it has nothing but white space, as an operator clears it. */
function nonBlankEntry(entries: SecretEntries, name: string): Uint8Array | undefined {
  return nonEmptyEntry(entries, name)?.some((octet) => octet > 0x20) ? entries[name] : undefined;
}

/** Returns an entry; undefined if it is empty. */
function nonEmptyEntry(entries: SecretEntries, name: string): Uint8Array | undefined {
  const value = Object.hasOwn(entries, name) ? entries[name] : undefined;
  return value === undefined || value.length === 0 ? undefined : value;
}
