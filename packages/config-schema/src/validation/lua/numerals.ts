/**
 * Decimal, hexadecimal and binary numbers, with the suffixes of 64-bit integers and of imaginary numbers. No two parts
 * of a form can match the same character, so the time is linear in the length also if a number is malformed.
 */
const forms: readonly RegExp[] = [
  /^(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?(?<exponent>[0-9]+))?[iI]?$/,
  /^0[xX](?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)(?:[pP][-+]?(?<exponent>[0-9]+))?[iI]?$/,
  /^0[bB](?=[01])0*(?:1[01]{0,63})?[iI]?$/,
  /^(?<integer>[0-9]+|0[xX][0-9a-fA-F]+|0[bB][01]+)(?:[uU]?[lL][lL]|[lL][lL][uU])$/,
];

const exponentLimit = 1 << 20;
const integerLimit = 1n << 64n;

/** The longest written form of an integer of 64 bits without leading zeros. */
const maxDigits = 66;

/** Reports whether LuaJIT reads a text as a number. */
export function isNumeral(text: string): boolean {
  return forms.some((form) => {
    const found = form.exec(text);
    if (found === null) return false;
    const { exponent, integer } = found.groups ?? {};
    return !(Number(exponent) >= exponentLimit) && (integer === undefined || isWithin64Bits(integer));
  });
}

function isWithin64Bits(integer: string): boolean {
  const [, prefix = "", digits = ""] = /^(0[xXbB]|)0*(.*)$/.exec(integer) ?? [];
  return digits.length <= maxDigits && BigInt(`${prefix}${digits || "0"}`) < integerLimit;
}
