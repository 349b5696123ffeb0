import type { Source } from "@istiod/istio-api/security/v1beta1/authorization_policy";
import { each, type Place } from "../../../validation/place.js";
import { checkIpBlocks, checkMatchedValues, checkServiceAccounts, checkWildcards } from "./values.js";

const named = [
  "principals",
  "notPrincipals",
  "requestPrincipals",
  "notRequestPrincipals",
  "namespaces",
  "notNamespaces",
] as const;
const addresses = ["ipBlocks", "notIpBlocks", "remoteIpBlocks", "notRemoteIpBlocks"] as const;
const accounts = ["serviceAccounts", "notServiceAccounts"] as const;
const trustDomains = ["trustDomains", "notTrustDomains"] as const;

export function checkSource(source: Source, place: Place): void {
  if ([...named, ...addresses, ...accounts, ...trustDomains].every((field) => source[field].length === 0))
    place.error("is empty, expected at least one field");
  for (const field of named) checkMatchedValues(source[field], place.at(field));
  for (const field of addresses) checkIpBlocks(source[field], place.at(field));
  for (const field of accounts) {
    checkServiceAccounts(source[field], place.at(field));
    const other = (["principals", "notPrincipals", "namespaces", "notNamespaces"] as const).find(
      (o) => source[o].length > 0,
    );
    if (source[field].length > 0 && other !== undefined)
      place.at(field).error(`is set together with ${other}, expected only one of them`);
  }
  for (const field of trustDomains) {
    checkWildcards(source[field], place.at(field));
    each(source[field], place.at(field), (value, at) => {
      if (value.includes("/")) at.error(`is ${JSON.stringify(value)}, expected a trust domain without a path`);
    });
  }
}
