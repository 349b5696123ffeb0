/** Curves of TLS by all of their names in Envoy's BoringSSL. */
const curves: Readonly<Record<string, string>> = {
  "P-256": "P-256",
  prime256v1: "P-256",
  "P-384": "P-384",
  secp384r1: "P-384",
  "P-521": "P-521",
  secp521r1: "P-521",
  X25519: "X25519",
  x25519: "X25519",
  X25519MLKEM768: "X25519MLKEM768",
  MLKEM1024: "MLKEM1024",
};

export const curveNames = "P-256, P-384, P-521, X25519, X25519MLKEM768 or MLKEM1024";

/**
 * Returns the curve of a name; undefined for an unknown one, with which Envoy rejects a listener, as with a curve that
 * is named twice.
 */
export function curveOf(name: string): string | undefined {
  return Object.hasOwn(curves, name) ? curves[name] : undefined;
}

/** Returns the names that Envoy takes together: the known ones, without repetitions. */
export function usableCurves(names: readonly string[]): readonly string[] {
  const seen = new Set<string>();
  return names.filter((name) => {
    const curve = curveOf(name);
    if (curve === undefined || seen.has(curve)) return false;
    seen.add(curve);
    return true;
  });
}
