import type { Place } from "./place.js";

/** Maximum length of a header's name or value in bytes (Envoy's `HeaderValue`, and attributes of cookies). */
export const maxHeaderBytes = 16_384;

/**
 * Maximum length of a name that becomes a part of a resource's name, in bytes. A proxy asks for resources by name, and
 * istiod ends the stream of a client that asks for a name of more than 16,384 bytes.
 */
const maxNameBytes = 16_000;

/** Maximum length of a path on Linux, in bytes. */
const maxPathBytes = 4_096;

/** Checks a name that becomes a part of a resource's name. */
export function checkResourceName(name: string, place: Place): void {
  checkBytes(name, maxNameBytes, place);
}

/** Checks the path of a certificate file, which becomes the name of a secret. */
export function checkFilePath(path: string, place: Place): void {
  checkBytes(path, maxPathBytes, place);
}

/** Checks a text that Envoy takes as the name or value of a header: without NUL and line breaks. */
export function checkSingleLine(text: string, place: Place): void {
  if (/[\0\r\n]/.test(text)) place.error("has a line break or NUL, expected text of one line");
}

export function checkBytes(text: string, most: number, place: Place): void {
  const size = Buffer.byteLength(text);
  if (size > most) place.error(`has ${size} bytes, expected at most ${most}`);
}
