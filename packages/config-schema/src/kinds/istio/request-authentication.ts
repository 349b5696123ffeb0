import { collection, index } from "@istiod/incremental";
import {
  type ClaimToHeader,
  RequestAuthenticationSchema,
  type RequestAuthentication,
} from "@istiod/istio-api/security/v1beta1/request_authentication";
import type { ConfigObject } from "../../config-object.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { checkOptionalDuration } from "../../validation/durations.js";
import { checkJwks } from "../../validation/jwt/jwks.js";
import { each, type Place } from "../../validation/place.js";
import { atMost, atMostOne, matches, notEmpty, required, size, type Shape } from "../../validation/shape.js";
import { attachmentShape, checkAttachment } from "../../validation/targets.js";
import { selections } from "../selections.js";
import { istioKind } from "./istio-kind.js";

export type RequestAuthenticationObject = ConfigObject<RequestAuthentication>;

export const requestAuthentications = collection<RequestAuthenticationObject>("RequestAuthentication", {
  filter: discoveryNamespacesFilter,
});

export const requestAuthenticationsByNamespace = index(requestAuthentications, "byNamespace", (v) => [v.namespace]);

/** Selections of rejected policies without a good version, without rules. */
export const rejectedRequestAuthentications = collection<RequestAuthenticationObject>("RejectedRequestAuthentication", {
  filter: discoveryNamespacesFilter,
});

export const rejectedRequestAuthenticationsByNamespace = index(rejectedRequestAuthentications, "byNamespace", (v) => [
  v.namespace,
]);

/** Envoy rejects a listener with another name or prefix. */
const singleLine = /^[^\0\r\n]*$/;
const header = /^[-_A-Za-z0-9]+$/;
const httpUrl = /^https?:\/\/[^\s/\\]/i;

const shape: Shape = {
  ...attachmentShape,
  jwtRules: atMost(4096),
  "jwtRules[]": [atMostOne("jwksUri", "jwks_uri", "jwks")],
  "jwtRules[].audiences[]": notEmpty,
  "jwtRules[].fromCookies[]": notEmpty,
  "jwtRules[].fromHeaders[]": required("name"),
  "jwtRules[].fromHeaders[].name": [notEmpty, matches(singleLine, "the name of a header")],
  "jwtRules[].fromHeaders[].prefix": matches(singleLine, "no line break"),
  "jwtRules[].fromParams[]": notEmpty,
  "jwtRules[].outputPayloadToHeader": matches(singleLine, "the name of a header"),
  "jwtRules[].issuer": notEmpty,
  "jwtRules[].jwksUri": size(1, 2048),
  "jwtRules[].outputClaimToHeaders[]": required("header", "claim"),
  "jwtRules[].outputClaimToHeaders[].claim": notEmpty,
  "jwtRules[].outputClaimToHeaders[].header": [notEmpty, matches(header, "the name of a header")],
  "jwtRules[].spaceDelimitedClaims": atMost(64),
  "jwtRules[].spaceDelimitedClaims[]": notEmpty,
};

export const requestAuthenticationKind = istioKind({
  kind: "RequestAuthentication",
  group: "security.istio.io",
  versions: ["v1", "v1beta1"],
  schema: RequestAuthenticationSchema,
  collection: requestAuthentications,
  shape,
  failClosed: {
    collection: rejectedRequestAuthentications,
    effect: "every HTTP request is rejected with status 401",
    substitutes: (body) => selections(body, "selector", "targetRef", "targetRefs"),
  },
  validate,
});

/** Validates a spec as Istio's `ValidateRequestAuthentication` does. */
function validate({ spec }: RequestAuthenticationObject, place: Place): void {
  checkAttachment(spec, place);
  each(spec.jwtRules, place.at("jwtRules"), (rule, at) => {
    if (rule.issuer === "" && rule.jwksUri === "") at.at("issuer").error("is missing, expected it or jwksUri");
    if (rule.jwksUri !== "" && !(httpUrl.test(rule.jwksUri) && URL.canParse(rule.jwksUri)))
      at.at("jwksUri").error(`is ${JSON.stringify(rule.jwksUri)}, expected a URL with http:// or https://`);
    if (/\/\.well-known\/(?:openid-configuration|oauth-authorization-server)\/?$/.test(rule.jwksUri))
      at.at("jwksUri").warning(
        `is ${JSON.stringify(rule.jwksUri)}, the metadata of the provider, which has no keys, so that every token is rejected, expected the jwks_uri in it, or none, to have it looked up`,
        "never-matches",
      );
    warnOfSpaces(rule.issuer, "issuer", at.at("issuer"));
    each(rule.audiences, at.at("audiences"), (audience, each) => warnOfSpaces(audience, "audience", each));
    if (rule.jwks !== "") checkJwks(rule.jwks, at.at("jwks"));
    checkOptionalDuration(rule.timeout, at.at("timeout"));
    each(rule.fromHeaders, at.at("fromHeaders"), ({ name, prefix }, header) => {
      warnOfName(name, headerName, "header", header.at("name"));
      if (name.toLowerCase() === "authorization" && prefix === "")
        header.warning(
          'has no prefix, so that "Bearer " is taken for a part of the token, which is rejected, expected prefix "Bearer "',
          "never-matches",
        );
    });
    checkClaims(rule.outputClaimToHeaders, at.at("outputClaimToHeaders"));
    each(rule.fromParams, at.at("fromParams"), (name, param) => warnOfName(name, paramName, "query parameter", param));
    each(rule.fromCookies, at.at("fromCookies"), (name, cookie) => warnOfName(name, headerName, "cookie", cookie));
  });
}

/**
 * Warns of a claim that is written to a header twice. Different claims may share a header, as tokens may have only one
 * of them.
 */
function checkClaims(outputs: readonly ClaimToHeader[], place: Place): void {
  const seen = new Map<string, number>();
  each(outputs, place, ({ header: name, claim }, at, i) => {
    const output = JSON.stringify([name.toLowerCase(), claim]);
    const first = seen.get(output);
    if (first === undefined) seen.set(output, i);
    else
      at.at("header").warning(
        `is ${JSON.stringify(name)}, to which outputClaimToHeaders[${first}] writes the claim, too, so that the header has the value twice; case does not matter, expected one of the two`,
        "no-effect",
      );
  });
}

function warnOfSpaces(value: string, what: string, place: Place): void {
  if (value !== value.trim())
    place.warning(
      `is ${JSON.stringify(value)}, and no token has an ${what} with spaces around it, expected ${JSON.stringify(value.trim())}`,
      "never-matches",
    );
}

/** The names that headers and cookies can have: tokens (RFC 9110, section 5.6.2). */
const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const paramName = /^[^?=&#\s]+$/;

/** Warns of a place of tokens that no request has. */
function warnOfName(name: string, valid: RegExp, what: string, place: Place): void {
  if (name === "" || valid.test(name)) return;
  const [near = ""] = name.split(/[?=&#:;,\s]+/).filter((part) => part !== "");
  place.warning(
    `is ${JSON.stringify(name)}, and no ${what} has this name, expected ${near === "" ? "a name" : JSON.stringify(near)}`,
    "never-matches",
  );
}
