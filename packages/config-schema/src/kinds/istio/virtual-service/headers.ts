import type {
  Headers,
  Headers_HeaderOperations as Operations,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { headerFormatFault } from "../../../validation/format-string/header-format.js";
import { maxHeaderAdditions, maxHeaderBytes } from "../../../validation/format-string/header-value.js";
import { each, type Place } from "../../../validation/place.js";

const controlCharacter = /[\u0000-\u0008\u000a-\u001f\u007f]/;

/** Checks header operations. The authority of a request can be replaced; other pseudo-headers cannot be changed. */
export function checkHeaders(headers: Headers | undefined, place: Place): void {
  checkOperations(headers?.request, place.at("request"), true);
  checkOperations(headers?.response, place.at("response"), false);
}

export function isAuthority(name: string): boolean {
  return /^(?::authority|host)$/i.test(name);
}

function checkOperations(operations: Operations | undefined, place: Place, authorityAllowed: boolean): void {
  if (operations === undefined) return;
  const additions = Object.keys(operations.add).length + Object.keys(operations.set).length;
  if (additions > maxHeaderAdditions)
    place.error(`adds and sets ${additions} headers, expected at most ${maxHeaderAdditions}`);
  for (const field of ["add", "set"] as const) {
    for (const [name, value] of Object.entries(operations[field])) {
      checkName(name, authorityAllowed, place.at(field, name));
      checkValue(value, place.at(field, name));
      checkSize(name, "name", place.at(field, name));
      checkSize(value, "value", place.at(field, name));
    }
  }
  const replaced = new Set(Object.keys(operations.set).map((name) => name.toLowerCase()));
  each(operations.remove, place.at("remove"), (name, at) => {
    checkName(name, false, at);
    if (replaced.has(name.toLowerCase())) at.warning(removedAndSet(name), "no-effect");
  });
}

/** Explains that a header is removed without an effect, as a predicate. */
export function removedAndSet(name: string): string {
  return `is ${name}, which has no effect: proxies remove headers first, and set then adds it; write it in one of them`;
}

/** Checks a text that becomes a header's value or a part of one. Envoy rejects control characters in it. */
export function checkHeaderText(text: string, place: Place): void {
  if (hasControlCharacter(text)) place.error("has a control character, expected text");
}

function hasControlCharacter(text: string): boolean {
  return /[\u0000-\u001f\u007f]/.test(text);
}

function checkName(name: string, authorityAllowed: boolean, place: Place): void {
  if (name === "") place.error("has an empty name, expected the name of a header");
  else if (hasControlCharacter(name)) place.error("has a control character in its name, expected the name of a header");
  else if ((name.startsWith(":") || name.toLowerCase() === "host") && !(authorityAllowed && isAuthority(name)))
    place.error(`is ${name}, expected a header that may be changed here`);
}

function checkSize(text: string, part: "name" | "value", place: Place): void {
  const size = Buffer.byteLength(text);
  if (size > maxHeaderBytes) place.error(`has a ${part} of ${size} bytes, expected at most ${maxHeaderBytes}`);
}

function checkValue(value: string, place: Place): void {
  if (controlCharacter.test(value)) return place.error("has a control character, expected text");
  const fault = headerFormatFault(value);
  if (fault !== undefined) return place.error(fault);
  const [variable = ""] = nginxVariable.exec(value) ?? [];
  const expected = nginxVariables[variable];
  if (expected !== undefined)
    place.warning(
      `has ${JSON.stringify(variable)}, which is sent as it is: proxies do not know variables of nginx, expected ${JSON.stringify(expected)}`,
      "literal",
    );
}

const nginxVariable =
  /\$(?:(?:proxy_add_x_forwarded_for|remote_addr|request_uri|request_id|host|scheme)(?!\w)|http_(?=\w))/;

/** Variables of nginx, with what Envoy has for them. `$http_` begins the names of those for headers. */
const nginxVariables: Readonly<Record<string, string>> = {
  $proxy_add_x_forwarded_for: "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%",
  $remote_addr: "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%",
  $request_uri: "%REQ(:PATH)%",
  $request_id: "%REQ(X-REQUEST-ID)%",
  $http_: "%REQ(NAME)%",
  $host: "%REQ(:AUTHORITY)%",
  $scheme: "%REQ(:SCHEME)%",
};
