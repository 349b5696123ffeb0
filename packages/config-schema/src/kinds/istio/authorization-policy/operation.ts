import type { Operation } from "@istiod/istio-api/security/v1beta1/authorization_policy";
import { describe } from "../../../decoding/fields.js";
import { each, type Place } from "../../../validation/place.js";
import { checkNotEmpty, checkPorts } from "./values.js";

const fields = ["hosts", "notHosts", "ports", "notPorts", "methods", "notMethods", "paths", "notPaths"] as const;

/** A path segment (RFC 3986, pchar). */
const segment = /^[a-zA-Z0-9\-._~%!$&'()+,;:@=]+$/;

export function checkOperation(operation: Operation, place: Place): void {
  if (fields.every((field) => operation[field].length === 0)) place.error("is empty, expected at least one field");
  for (const field of ["hosts", "notHosts", "methods", "notMethods", "paths", "notPaths"] as const)
    checkNotEmpty(operation[field], place.at(field));
  for (const field of ["ports", "notPorts"] as const) checkPorts(operation[field], place.at(field));
  for (const field of ["paths", "notPaths"] as const) each(operation[field], place.at(field), checkPathTemplate);
}

/** Maximum length of a path template in bytes, and of its operators: Envoy compiles it to one pattern. */
const maxTemplateLength = 1024;
const maxOperators = 32;

/** Checks what makes Envoy abort or reject the listener: a relative template, an empty segment, its size. */
function checkTemplateSize(path: string, place: Place): void {
  if (!path.startsWith("/")) place.error(`is ${describe(path)}, expected it to begin with /`);
  if (path.includes("//")) place.error(`is ${describe(path)}, expected no empty segment`);
  const length = Buffer.byteLength(path);
  if (length > maxTemplateLength) place.error(`has ${length} bytes, expected at most ${maxTemplateLength}`);
  const operators = path.split("{*").length - 1;
  if (operators > maxOperators) place.error(`has ${operators} operators, expected at most ${maxOperators}`);
}

/** Checks a path template: `{*}` matches one segment, and a final `{**}` any number. */
function checkPathTemplate(path: string, place: Place): void {
  const isTemplate = path.includes("{*}") || path.includes("{**}");
  if (isTemplate) checkTemplateSize(path, place);
  let anySeen = false;
  for (const part of path.replace(/^\/+|\/+$/g, "").split("/")) {
    const operator = part === "{*}" || part === "{**}";
    if (operator && anySeen) place.error(`is ${JSON.stringify(path)}, expected nothing after {**} that is an operator`);
    else if (!operator && /[{}]/.test(part))
      place.error(`is ${JSON.stringify(path)}, expected braces in {*} and {**} only`);
    else if (!operator && isTemplate && !segment.test(part))
      place.error(`is ${JSON.stringify(path)}, expected valid path segments, {*} or {**}`);
    if (part === "{**}") anySeen = true;
  }
}
