import type { Attribute } from "./attribute.js";
import { claim, destinationPort, filterMetadata, requestHeader, sni } from "./request-attributes.js";
import {
  destinationIp,
  remoteIp,
  requestPrincipal,
  sourceIp,
  sourceNamespace,
  sourcePrincipal,
  sourceServiceAccount,
  sourceTrustDomain,
} from "./source-attributes.js";

const plain: Readonly<Record<string, Attribute>> = {
  "destination.ip": destinationIp,
  "destination.port": destinationPort,
  "connection.sni": sni,
  "source.ip": sourceIp,
  "remote.ip": remoteIp,
  "source.namespace": sourceNamespace,
  "source.trustDomain": sourceTrustDomain,
  "source.serviceAccount": sourceServiceAccount,
  "source.principal": sourcePrincipal,
  "request.auth.principal": requestPrincipal,
  "request.auth.audiences": claim(["aud"]),
  "request.auth.presenter": claim(["azp"]),
};

/** Returns the attribute of a `when` key; undefined if it is unknown. Source: the reference of conditions. */
export function conditionAttribute(key: string): Attribute | undefined {
  if (Object.hasOwn(plain, key)) return plain[key];
  const header = bracketed(key, "request.headers");
  if (header !== undefined) return requestHeader(header);
  const claims = bracketed(key, "request.auth.claims");
  if (claims !== undefined) return claim(/^[^[\]]*(\]\[[^[\]]*)*$/.test(claims) ? claims.split("][") : [claims]);
  const experimental = "experimental.";
  const open = key.indexOf("[");
  if (key.startsWith(`${experimental}envoy.filters.`) && open >= 0)
    return filterMetadata(key.slice(experimental.length, open), key.slice(open + 1).replace(/\]$/, ""));
  const prefixes = ["request.headers", "request.auth.claims", `${experimental}envoy.filters.`];
  return prefixes.some((prefix) => key.startsWith(prefix)) ? malformed : undefined;
}

/** A key of a known kind that names nothing. */
const malformed: Attribute = {
  joined: true,
  actual: () => "",
  unusable: () => "the key has no name in brackets",
  matches: () => false,
};

function bracketed(key: string, name: string): string | undefined {
  return key.startsWith(`${name}[`) && key.endsWith("]") ? key.slice(name.length + 1, -1) : undefined;
}
