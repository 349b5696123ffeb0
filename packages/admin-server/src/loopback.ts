/** Reports whether an address is of this machine, in IPv4, IPv6 or IPv4-mapped form. */
export function isLoopback(address: string | undefined): boolean {
  const plain = address?.replace(/^::ffff:/i, "") ?? "";
  return plain === "::1" || /^127(\.\d{1,3}){3}$/.test(plain);
}
