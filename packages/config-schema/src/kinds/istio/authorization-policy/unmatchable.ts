import type { Operation, Rule, Source } from "@istiod/istio-api/security/v1beta1/authorization_policy";
import { each, type Place } from "../../../validation/place.js";

/** Warns of values that no request has: paths, hosts and principals are compared as a whole, without patterns. */
export function warnOfUnmatchableRule(rule: Rule, place: Place): void {
  each(rule.from, place.at("from"), ({ source }, at) => {
    if (source !== undefined) warnOfSource(source, at.at("source"));
  });
  each(rule.to, place.at("to"), ({ operation }, at) => {
    if (operation !== undefined) warnOfOperation(operation, at.at("operation"));
  });
  each(rule.when, place.at("when"), ({ key, values, notValues }, at) => {
    if (key === "source.principal") {
      each(values, at.at("values"), warnOfPrincipal);
      each(notValues, at.at("notValues"), warnOfPrincipal);
    }
    const name = /^request\.headers\[(.*)\]$/s.exec(key)?.[1];
    if (name !== undefined && !/^[!#$%&'*+\-.^_`|~A-Za-z0-9:]+$/.test(name))
      warn(at.at("key"), `is ${JSON.stringify(key)}, and no header has this name, expected request.headers[NAME]`);
  });
}

function warn(place: Place, message: string): void {
  place.warning(message, "never-matches");
}

function warnOfSource(source: Source, place: Place): void {
  for (const field of ["principals", "notPrincipals"] as const) each(source[field], place.at(field), warnOfPrincipal);
  for (const field of ["requestPrincipals", "notRequestPrincipals"] as const)
    each(source[field], place.at(field), warnOfInnerStar);
}

/** Warns of a `*` that is neither at the beginning nor at the end, where it stands for itself. */
function warnOfInnerStar(value: string, place: Place): void {
  if (value.slice(1, -1).includes("*"))
    warn(
      place,
      `is ${JSON.stringify(value)}, whose * within the text only matches an asterisk, expected * at the beginning or the end`,
    );
}

function warnOfPrincipal(value: string, place: Place): void {
  warnOfInnerStar(value, place);
  if (value.includes("*") || value.startsWith("spiffe://") || /^[^/]+\/ns\/[^/]+\/sa\/[^/]+$/.test(value)) return;
  const name = value.includes("/") || value === "" ? "NAME" : value;
  warn(
    place,
    `is ${JSON.stringify(value)}, which no workload has, expected cluster.local/ns/NAMESPACE/sa/${name}, or serviceAccounts`,
  );
}

/** Characters that the name of a method cannot have (RFC 9110, section 5.6.2). */
const noMethodCharacter = /[^!#$%&'*+\-.^_`|~0-9A-Za-z]/;

function warnOfMethod(value: string, place: Place): void {
  if (!noMethodCharacter.test(value)) return;
  const names = value.split(/[^A-Za-z]+/).filter((name) => name !== "");
  const expected = names.map((name) => JSON.stringify(name.toUpperCase())).join(" and ");
  warn(
    place,
    `is ${JSON.stringify(value)}, which no method matches, expected ${expected === "" ? 'a method such as "GET"' : expected}`,
  );
}

function warnOfOperation(operation: Operation, place: Place): void {
  for (const field of ["methods", "notMethods"] as const) each(operation[field], place.at(field), warnOfMethod);
  for (const field of ["paths", "notPaths"] as const) each(operation[field], place.at(field), warnOfPath);
  for (const field of ["hosts", "notHosts"] as const)
    each(operation[field], place.at(field), (value, at) => {
      if (/[/\s]/.test(value))
        warn(at, `is ${JSON.stringify(value)}, which no host matches, expected a host without scheme and path`);
      else warnOfInnerStar(value, at);
    });
}

function warnOfPath(value: string, place: Place): void {
  const is = `is ${JSON.stringify(value)}, which`;
  if (value.includes("{*")) return;
  const hasBrackets = value.lastIndexOf("]") > value.indexOf("[") && value.includes("[");
  if (hasBrackets || /\.[*+]|\\|\)$|^\^|\$$/.test(value))
    warn(
      place,
      `${is} is compared as it is, not as a pattern, expected a prefix such as /api/*, or a template with {*}`,
    );
  else if (value.slice(1, -1).includes("*"))
    warn(place, `${is} only matches an asterisk at that place, expected {*} for a segment: ${starsAsTemplate(value)}`);
  else if (value.includes("?")) warn(place, `${is} no path matches: it is compared without the query`);
}

function starsAsTemplate(path: string): string {
  return JSON.stringify(
    path
      .split("/")
      .map((segment, i, all) => (segment !== "*" ? segment : i === all.length - 1 ? "{**}" : "{*}"))
      .join("/"),
  );
}
