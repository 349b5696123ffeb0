import type { ReceivedRequest } from "./received-request.js";
import type { KeyedRule } from "./token.js";

/** Returns the bearer token of the request, if a JWT rule expects tokens in that place. */
export function bearerToken(request: ReceivedRequest | undefined, rules: readonly KeyedRule[]): string | undefined {
  const expected = rules.some(
    ({ rule }) =>
      (rule.fromHeaders.length === 0 && rule.fromParams.length === 0 && rule.fromCookies.length === 0) ||
      rule.fromHeaders.some(({ name, prefix }) => name.toLowerCase() === "authorization" && prefix === "Bearer "),
  );
  const header = headerOf(request, "authorization");
  return expected && header?.startsWith("Bearer ") === true ? header.slice("Bearer ".length).trim() : undefined;
}

/** Reports whether a request is a CORS preflight, which needs no token. */
export function isPreflight(request: ReceivedRequest): boolean {
  return (
    request.method === "OPTIONS" &&
    (headerOf(request, "origin") ?? "") !== "" &&
    (headerOf(request, "access-control-request-method") ?? "") !== ""
  );
}

function headerOf(request: ReceivedRequest | undefined, name: string): string | undefined {
  return request?.headers.find(([key]) => key.toLowerCase() === name)?.[1];
}
