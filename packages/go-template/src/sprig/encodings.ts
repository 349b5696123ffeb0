import { createHash } from "node:crypto";
import { type Functions, goFunction } from "../functions.js";
import { stringType } from "../values/known-types.js";

const text = stringType;

/** Functions of encodings and hashes. */
export const encodingFunctions: Functions = {
  b64enc: goFunction([text], text, (value) => Buffer.from(value).toString("base64")),
  b64dec: goFunction([text], text, decodeBase64),
  b32enc: goFunction([text], text, encodeBase32),
  b32dec: goFunction([text], text, decodeBase32),
  sha1sum: goFunction([text], text, (value) => createHash("sha1").update(value).digest("hex")),
  sha256sum: goFunction([text], text, (value) => createHash("sha256").update(value).digest("hex")),
  sha512sum: goFunction([text], text, (value) => createHash("sha512").update(value).digest("hex")),
  adler32sum: goFunction([text], text, (value) => String(adler32(Buffer.from(value)))),
};

function adler32(bytes: Buffer): number {
  let a = 1;
  let b = 0;
  for (const byte of bytes) {
    a = (a + byte) % 65_521;
    b = (b + a) % 65_521;
  }
  return b * 65_536 + a;
}

/** Returns the decoded text, or the text of Go's error, as sprig does. */
function decodeBase64(value: string): string {
  const bytes = Buffer.from(value);
  const fault = base64Fault(bytes);
  return fault === undefined ? Buffer.from(value, "base64").toString() : `illegal base64 data at input byte ${fault}`;
}

const newLine = 0x0a;
const carriageReturn = 0x0d;
const padding = 0x3d;

/** Returns the offset at which Go rejects an encoded text. */
function base64Fault(bytes: Buffer): number | undefined {
  let digits = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    if (byte === newLine || byte === carriageReturn) continue;
    if (byte === padding) return paddingFault(bytes, i, digits % 4);
    if (!/^[A-Za-z0-9+/]$/.test(String.fromCharCode(byte))) return i;
    digits++;
  }
  return digits % 4 === 0 ? undefined : bytes.length - (digits % 4);
}

function paddingFault(bytes: Buffer, position: number, digits: number): number | undefined {
  if (digits < 2) return position;
  let next = skipLines(bytes, position + 1);
  if (digits === 2) {
    if (next === bytes.length) return bytes.length;
    if (bytes[next] !== padding) return next;
    next = skipLines(bytes, next + 1);
  }
  return next < bytes.length ? next : undefined;
}

function skipLines(bytes: Buffer, position: number): number {
  while (bytes[position] === newLine || bytes[position] === carriageReturn) position++;
  return position;
}

const base32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

function encodeBase32(value: string): string {
  const bits = Array.from(Buffer.from(value), (byte) => byte.toString(2).padStart(8, "0")).join("");
  const digits = (bits.match(/.{1,5}/g) ?? []).map((group) => base32.charAt(Number.parseInt(group.padEnd(5, "0"), 2)));
  return digits.join("").padEnd(Math.ceil(digits.length / 8) * 8, "=");
}

function decodeBase32(value: string): string {
  const source = value.replace(/[\r\n]/g, "");
  const fault = base32Fault(source);
  if (fault !== undefined) return `illegal base32 data at input byte ${fault}`;
  const bits = Array.from(source.replace(/=+$/, ""), (digit) => base32.indexOf(digit).toString(2).padStart(5, "0"));
  const bytes = bits.join("").match(/.{8}/g) ?? [];
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2))).toString();
}

function base32Fault(source: string): number | undefined {
  const bytes = Buffer.from(source);
  for (let i = 0; i < bytes.length; i++) {
    const digits = i % 8;
    const left = bytes.length - i - 1;
    if (bytes[i] === padding && digits >= 2 && left < 8) {
      if (left + digits < 7) return bytes.length;
      for (let k = 0; k < 7 - digits && k < left; k++) if (bytes[i + 1 + k] !== padding) return i + k;
      return digits === 3 || digits === 6 ? i : undefined;
    }
    if (!base32.includes(String.fromCharCode(bytes[i] ?? 0))) return i;
  }
  const missing = bytes.length % 8;
  return missing === 0 ? undefined : bytes.length - missing;
}
