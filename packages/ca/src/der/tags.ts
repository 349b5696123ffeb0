/** Identifier octets of the ASN.1 types in certificates and signing requests (X.690 §8.1.2, RFC 5280). */
export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** Identifier octet of a primitive context-specific element, such as a GeneralName. */
export const contextPrimitive = (number: number): number => 0x80 | number;

/** Identifier octet of a constructed context-specific element, such as an explicit tag. */
export const contextConstructed = (number: number): number => 0xa0 | number;
