/** Characters of a path that `{*}` matches. Source: `envoy.path.match.uri_template.uri_template_matcher`. */
const segmentCharacters = "[a-zA-Z0-9\\-._~%!$&'()+,;:@=*]";
const anyCharacters = "[a-zA-Z0-9\\-._~%!$&'()+,;:@=*/]";

/** Reports whether a value of `paths` is a template: `{*}` matches one segment, `{**}` any number. */
export function isPathTemplate(value: string): boolean {
  return value.includes("{*}") || value.includes("{**}");
}

/** Reports whether a path without query matches a template. */
export function matchesTemplate(template: string, path: string): boolean {
  const parts = template.split(/(\{\*{1,2}\})/).map((part) => {
    if (part === "{*}") return `${segmentCharacters}+`;
    return part === "{**}" ? `${anyCharacters}*` : part.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&");
  });
  return new RegExp(`^${parts.join("")}$`).test(path);
}
