/**
 * Reports whether a TLS cipher suite is known to Envoy, or is an expression such as `ALL`, which Envoy interprets.
 * Others are skipped, since Envoy would reject the listener. Source: Istio's `IsValidCipherSuite`.
 */
export function isCipherSuite(suite: string): boolean {
  return suite === "" || suite === "ALL" || !/^[\p{L}\p{N}]/u.test(suite) || known.has(suite);
}

const known = new Set([
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
  "ECDHE-ECDSA-AES128-SHA",
  "ECDHE-RSA-AES128-SHA",
  "ECDHE-ECDSA-AES256-SHA",
  "ECDHE-RSA-AES256-SHA",
  "AES128-GCM-SHA256",
  "AES256-GCM-SHA384",
  "AES128-SHA",
  "AES256-SHA",
  "DES-CBC3-SHA",
]);

/**
 * Returns the fault of a list of cipher suites with which Envoy rejects a listener, and the position of the suite;
 * undefined if Envoy takes the list. Unknown names are left out before (see {@link isCipherSuite}). Expressions are
 * `[A|B]` for suites of equal preference, and `!A`, `-A` and `+A`, which remove and move suites that come before.
 */
export function cipherListFault(
  suites: readonly string[],
): { readonly index: number; readonly message: string } | undefined {
  const chosen = new Set<string>();
  let last = -1;
  for (const [index, suite] of suites.entries()) {
    if (!isCipherSuite(suite) || suite === "") continue;
    last = index;
    const names = namesIn(suite);
    if (names === undefined)
      return { index, message: `is ${JSON.stringify(suite)}, which is not an expression of cipher suites` };
    const removes = suite.startsWith("!") || suite.startsWith("-");
    if (removes) for (const name of names) chosen.delete(name);
    else if (!suite.startsWith("+")) for (const name of names) chosen.add(name);
  }
  if (last < 0 || chosen.size > 0) return undefined;
  return { index: last, message: `is ${JSON.stringify(suites[last])}, which leaves no suite of the list` };
}

/** Returns the suites that an expression names; undefined if it is malformed or has an unknown name. */
function namesIn(expression: string): readonly string[] | undefined {
  const group = /^\[([^[\]]+)\]$/.exec(expression)?.[1]?.split("|");
  if (group !== undefined) return group.every((name) => known.has(name)) ? group : undefined;
  const name = expression.replace(/^[-!+]/, "");
  if (name === "ALL") return [...known];
  return known.has(name) ? [name] : undefined;
}

/** Returns the suites of a list that Envoy takes together, without repetitions; none if it does not take them. */
export function usableCiphers(suites: readonly string[]): readonly string[] {
  const usable = [...new Set(suites)].filter(isCipherSuite);
  return cipherListFault(usable) === undefined ? usable : [];
}
