import {
  AuthorizationPolicy_Action as Action,
  type Rule,
} from "@istiod/istio-api/security/v1beta1/authorization_policy";
import { each, type Place } from "../../../validation/place.js";
import { checkCondition } from "./condition.js";
import { checkOperation } from "./operation.js";
import { checkSource } from "./source.js";
import { warnOfUnmatchableRule } from "./unmatchable.js";

/** Fields that a CUSTOM rule cannot match: the provider decides before the proxy's own rules know the identity. */
const notForCustom = [
  "namespaces",
  "notNamespaces",
  "serviceAccounts",
  "notServiceAccounts",
  "trustDomains",
  "notTrustDomains",
  "principals",
  "notPrincipals",
  "requestPrincipals",
  "notRequestPrincipals",
] as const;

const identityKeys = ["source.namespace", "source.serviceAccount", "source.trustDomain", "source.principal"];

/** Fields that match a connection rather than an HTTP request. */
const ofConnections = [
  "principals",
  "notPrincipals",
  "ipBlocks",
  "notIpBlocks",
  "namespaces",
  "notNamespaces",
  "remoteIpBlocks",
  "notRemoteIpBlocks",
  "serviceAccounts",
  "notServiceAccounts",
] as const;

export function checkRule(rule: Rule, action: Action, place: Place): void {
  const sources = rule.from.flatMap(({ source }) => source ?? []);
  const operations = rule.to.flatMap(({ operation }) => operation ?? []);
  each(rule.from, place.at("from"), ({ source }, at) => {
    if (source === undefined) at.at("source").error("is missing, expected a source");
    else checkSource(source, at.at("source"));
  });
  each(rule.to, place.at("to"), ({ operation }, at) => {
    if (operation === undefined) at.at("operation").error("is missing, expected an operation");
    else checkOperation(operation, at.at("operation"));
  });
  each(rule.when, place.at("when"), checkCondition);
  if (action === Action.CUSTOM) checkForCustom(rule, place);
  warnOfUnmatchableRule(rule, place);
  const sourceOfConnection = sources.some((s) => ofConnections.some((field) => s[field].length > 0));
  const operationOfConnection = operations.some((o) => o.ports.length > 0 || o.notPorts.length > 0);
  const onlyHttp =
    (sources.length > 0 && operations.length === 0 && !sourceOfConnection) ||
    (operations.length > 0 && !operationOfConnection);
  if (action === Action.DENY && onlyHttp)
    place.warning("matches HTTP attributes only and so denies every connection to TCP ports, expected also ports");
}

function checkForCustom(rule: Rule, place: Place): void {
  each(rule.from, place.at("from"), ({ source }, at) => {
    for (const field of notForCustom)
      if ((source?.[field].length ?? 0) > 0) at.at("source", field).error("is set, expected none in a CUSTOM rule");
  });
  each(rule.when, place.at("when"), ({ key }, at) => {
    if (identityKeys.includes(key) || key.startsWith("request.auth."))
      at.at("key").error(`is ${key}, expected another in a CUSTOM rule`);
  });
}
