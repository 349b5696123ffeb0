/** A pattern of a string; `any` matches all that are not empty. */
export type StringPattern =
  | { readonly type: "any" }
  | { readonly type: "exact" | "prefix" | "suffix"; readonly value: string };

/** The patterns of the issuer and the subject of a token, both of which must match. */
export interface RequestPrincipalPattern {
  readonly issuer: StringPattern;
  readonly subject: StringPattern;
}

const any: StringPattern = { type: "any" };
const exact = (value: string): StringPattern => ({ type: "exact", value });

/**
 * Splits a request principal of an AuthorizationPolicy, `issuer/subject`, at its last slash: the issuer may contain
 * slashes. A `*` at the beginning is of the issuer, and one at the end of the subject, so that `https://*` needs the
 * issuer `https:/`. Without a slash, a suffix is of the subject, and everything else of the issuer. Source:
 * pilot/pkg/security/authz/model.
 */
export function requestPrincipalPattern(value: string): RequestPrincipalPattern {
  if (value === "*") return { issuer: any, subject: any };
  const slash = value.lastIndexOf("/");
  const issuer = slash < 0 ? value : value.slice(0, slash);
  const subject = slash < 0 ? "" : value.slice(slash + 1);
  if (value.startsWith("*")) {
    if (slash < 0) return { issuer: any, subject: { type: "suffix", value: value.slice(1) } };
    return { issuer: issuer === "*" ? any : { type: "suffix", value: issuer.slice(1) }, subject: exact(subject) };
  }
  if (value.endsWith("*")) {
    if (slash < 0) return { issuer: { type: "prefix", value: value.slice(0, -1) }, subject: any };
    return { issuer: exact(issuer), subject: subject === "*" ? any : { type: "prefix", value: subject.slice(0, -1) } };
  }
  return { issuer: exact(issuer), subject: exact(subject) };
}

/** Reports whether a string matches a pattern. */
export function matchesStringPattern(pattern: StringPattern, text: string): boolean {
  switch (pattern.type) {
    case "any":
      return text !== "";
    case "exact":
      return text === pattern.value;
    case "prefix":
      return text.startsWith(pattern.value);
    case "suffix":
      return text.endsWith(pattern.value);
  }
}
