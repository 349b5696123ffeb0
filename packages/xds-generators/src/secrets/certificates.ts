/** Entries of a Secret, or of a ConfigMap as bytes. */
export type Entries = Readonly<Record<string, Uint8Array>>;

export interface KeyPair {
  readonly chain: Uint8Array;
  readonly key: Uint8Array;
  readonly ocspStaple?: Uint8Array;
}

export interface Roots {
  readonly certificates: Uint8Array;
  readonly crl?: Uint8Array;
}

/** A key and its certificate: the entries `key` and `cert`, or those of Kubernetes' TLS Secrets. Undefined where neither pair is whole. */
export function keyPairIn(entries: Entries): KeyPair | undefined {
  const generic = pair(entries, "cert", "key");
  if (generic !== undefined) return generic;
  const tls = pair(entries, "tls.crt", "tls.key");
  const ocspStaple = filled(entries, "tls.ocsp-staple");
  return tls && (ocspStaple === undefined ? tls : { ...tls, ocspStaple });
}

/** Root certificates, and what they revoked: the entries `cacert` and `crl`, or `ca.crt` and `ca.crl`. */
export function rootsIn(entries: Entries): Roots | undefined {
  for (const [name, revoked] of [
    ["cacert", "crl"],
    ["ca.crt", "ca.crl"],
  ] as const) {
    const certificates = filled(entries, name);
    const crl = filled(entries, revoked);
    if (certificates !== undefined) return crl === undefined ? { certificates } : { certificates, crl };
  }
  return undefined;
}

function pair(entries: Entries, chainName: string, keyName: string): KeyPair | undefined {
  const chain = filled(entries, chainName);
  const key = filled(entries, keyName);
  return chain && key && { chain, key };
}

/** An entry; one without content is as none. */
function filled(entries: Entries, name: string): Uint8Array | undefined {
  const value = Object.hasOwn(entries, name) ? entries[name] : undefined;
  return value === undefined || value.length === 0 ? undefined : value;
}
