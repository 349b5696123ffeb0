import type { HTTPRoute } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { RE2JS } from "re2js";
import { type PathUse, warnOfAuthority, warnOfPath } from "../../../validation/literal-values.js";
import type { Place } from "../../../validation/place.js";
import { regexFault } from "../../../validation/regex/regex.js";

const redirected: PathUse = { sent: "sent after the host of the redirect as it is", hostField: "authority" };
const rewritten: PathUse = { sent: "sent as the beginning of the path", hostField: "authority" };

/** Warns of redirects and rewrites that proxies send as they are written, although they have another form. */
export function warnOfLiteralValues({ redirect, rewrite }: HTTPRoute, place: Place): void {
  if (redirect !== undefined) {
    for (const field of ["uri", "prefixRewrite"] as const)
      warnOfPath(redirect[field], redirected, place.at("redirect", field));
    warnOfAuthority(redirect.authority, place.at("redirect", "authority"));
  }
  if (rewrite === undefined) return;
  warnOfPath(rewrite.uri, rewritten, place.at("rewrite", "uri"));
  warnOfAuthority(rewrite.authority, place.at("rewrite", "authority"));
  const { match = "", rewrite: text = "" } = rewrite.uriRegexRewrite ?? {};
  if (match !== "" && text !== "" && regexFault(match) === undefined)
    warnOfGroups(match, text, place.at("rewrite", "uriRegexRewrite", "rewrite"));
}

/** Warns of references to groups in another syntax than `\1`, or to groups that the pattern lacks. */
function warnOfGroups(match: string, text: string, place: Place): void {
  const groups = RE2JS.compile(match).groupCount();
  const foreign = /\$(\d)|\$\{(\d)\}/.exec(text);
  if (foreign !== null && groups > 0)
    place.warning(
      `has ${JSON.stringify(foreign[0])}, which is sent as it is, expected ${JSON.stringify(`\\${foreign[1] ?? foreign[2]}`)}`,
      "literal",
    );
  let highest = 0;
  // A doubled backslash is a backslash, also before a digit.
  for (const [, group = ""] of text.matchAll(/\\(?:\\|(\d))/g)) highest = Math.max(highest, Number(group));
  if (highest > groups)
    place.warning(
      `has ${JSON.stringify(`\\${highest}`)}, and the pattern has ${groups} groups, so that no path is rewritten, expected a group in parentheses in match`,
      "literal",
    );
}
