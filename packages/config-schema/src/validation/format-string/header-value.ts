import type { Place } from "../place.js";
import { headerFormatFault } from "./header-format.js";

/** Maximum length of a header's name and of its value in bytes (Envoy's `HeaderValue`). */
export const maxHeaderBytes = 16_384;

/** Maximum number of added headers (Envoy's `request_headers_to_add`). */
export const maxHeaderAdditions = 1000;

/** Names of gRPC metadata. */
const metadataKey = /^[0-9A-Za-z_.-]+$/;

/** Checks a header that proxies send to a service of the mesh configuration, such as a collector or an authorizer. */
export function checkSentHeader(name: string, value: string, place: Place): void {
  checkText(name, "name", place);
  if (name === "") place.error("has an empty name, expected the name of a header");
  checkText(value, "value", place);
  const fault = headerFormatFault(value);
  if (fault !== undefined) place.error(fault);
}

/** Checks gRPC metadata that proxies send to a service. */
export function checkSentMetadata(name: string, value: string, place: Place): void {
  checkSentHeader(name, value, place);
  if (name !== "" && !metadataKey.test(name))
    place.error(`has the name ${JSON.stringify(name)}, expected letters, digits, _, . and -`);
}

/** Checks the name of a header that Envoy reads. */
export function checkHeaderName(name: string, place: Place): void {
  if (/[\0\r\n]/.test(name)) place.error("has a control character, expected the name of a header");
}

function checkText(text: string, part: "name" | "value", place: Place): void {
  if (/[\0\r\n]/.test(text)) place.error(`has a control character in its ${part}, expected text`);
  const size = Buffer.byteLength(text);
  if (size > maxHeaderBytes) place.error(`has a ${part} of ${size} bytes, expected at most ${maxHeaderBytes}`);
}
