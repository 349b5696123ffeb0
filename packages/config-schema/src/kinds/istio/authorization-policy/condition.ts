import type { Condition } from "@istiod/istio-api/security/v1beta1/authorization_policy";
import type { Place } from "../../../validation/place.js";
import {
  checkIpBlocks,
  checkMatchedValues,
  checkNotEmpty,
  checkPorts,
  checkServiceAccounts,
  checkWildcards,
} from "./values.js";

type ValuesCheck = (values: readonly string[], place: Place) => void;

/** Condition keys, each with the check of its values. */
const keys: Readonly<Record<string, ValuesCheck>> = {
  "source.ip": checkIpBlocks,
  "remote.ip": checkIpBlocks,
  "source.namespace": checkMatchedValues,
  "source.serviceAccount": checkServiceAccounts,
  "source.principal": checkMatchedValues,
  "source.trustDomain": checkWildcards,
  "request.auth.principal": checkMatchedValues,
  "request.auth.audiences": checkNotEmpty,
  "request.auth.presenter": checkNotEmpty,
  "destination.ip": checkIpBlocks,
  "destination.port": checkPorts,
  "connection.sni": checkNotEmpty,
};

/** Condition keys with an entry, as in `request.headers[x-token]`. */
const entryKeys = ["request.headers", "request.auth.claims", "experimental.envoy.filters."];

export function checkCondition({ key, values, notValues }: Condition, place: Place): void {
  if (key === "") {
    place.at("key").error("is empty, expected a key such as source.ip");
    return;
  }
  if (values.length === 0 && notValues.length === 0)
    place.error(`has the key ${key} only, expected values or notValues`);
  const check = Object.hasOwn(keys, key) ? keys[key] : undefined;
  if (check === undefined && !entryKeys.some((k) => key.startsWith(k)))
    place
      .at("key")
      .error(
        `is ${JSON.stringify(key)}, expected one of ${[...Object.keys(keys), ...entryKeys.slice(0, 2).map((k) => `${k}[…]`)].join(", ")}`,
      );
  else if (check === undefined && !/^[^[]+\[.+\]$/s.test(key))
    place.at("key").error(`is ${JSON.stringify(key)}, expected a name in brackets at its end`);
  else if (key.startsWith("request.auth.claims") && key.includes("[]"))
    place.at("key").error(`is ${JSON.stringify(key)}, expected no empty brackets`);
  else if (/[\u0000-\u001f\u007f]/.test(key)) place.at("key").error("has a control character, expected text");
  for (const [field, list] of [
    ["values", values],
    ["notValues", notValues],
  ] as const) {
    (check ?? checkNotEmpty)(list, place.at(field));
  }
}
