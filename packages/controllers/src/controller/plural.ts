/** Returns the name of a resource in paths by its kind: policies, gateways, proxyconfigs, gatewayclasses. */
export function pluralOf(kind: string): string {
  const name = kind.toLowerCase();
  if (name.endsWith("ss")) return `${name}es`;
  return `${name}s`.replace(/([^aeiou])ys$/, "$1ies");
}
