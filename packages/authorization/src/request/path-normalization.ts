/** `meshConfig.pathNormalization.normalization`. */
export type PathNormalization = "NONE" | "BASE" | "MERGE_SLASHES" | "DECODE_AND_MERGE_SLASHES";

/** The path that policies see; or the reason why the proxy rejects the request with 400. */
export type NormalizedPath = { readonly path: string } | { readonly rejected: string };

/** Normalizes the target of a request, as Envoy does before its filters run. */
export function normalizePath(target: string, normalization: PathNormalization): NormalizedPath {
  if (target.includes("#")) return { rejected: "the path has a fragment" };
  if (normalization === "NONE") return { path: target };
  const question = target.indexOf("?");
  const query = question < 0 ? "" : target.slice(question);
  let path = question < 0 ? target : target.slice(0, question);
  if (normalization === "DECODE_AND_MERGE_SLASHES")
    path = path.replace(/%(2f|5c)/gi, (_, code: string) => (code.toLowerCase() === "2f" ? "/" : "\\"));
  // Parameters are removed first: a NUL in them, as in `/..;%00/`, does not reject the request.
  path = withoutDotParameters(path);
  if (/%00/.test(path)) return { rejected: "the path has an encoded NUL" };
  path = resolveDots(decodeUnreserved(path));
  if (normalization !== "BASE") path = mergeSlashes(path);
  return { path: path + query };
}

/** Removes the parameters of the segments `.` and `..`, as in `/..;x/`. Encoded dots do not count here. */
function withoutDotParameters(path: string): string {
  return path.replace(/(^|\/)(\.{1,2});[^/]*/g, "$1$2");
}

/** A path of slashes only becomes two, as in Envoy. */
function mergeSlashes(path: string): string {
  return /^\/{2,}$/.test(path) ? "//" : path.replace(/\/{2,}/g, "/");
}

/** Decodes unreserved characters, encodes those that a path must not have, and turns backslashes into slashes. */
function decodeUnreserved(path: string): string {
  return path
    .replace(/%([0-9a-fA-F]{2})/g, (escape, code: string) => {
      const character = String.fromCharCode(Number.parseInt(code, 16));
      return /[a-zA-Z0-9\-._~]/.test(character) ? character : escape;
    })
    .replace(/\\/g, "/")
    .replace(/[\u0000-\u0020"<>^`{|}\u007f]/g, percentEncode);
}

function percentEncode(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

/** Removes the segments `.` and `..`, and nothing above the root. Empty segments count. */
function resolveDots(path: string): string {
  if (!path.startsWith("/")) return path;
  const out: string[] = [];
  const segments = path.slice(1).split("/");
  for (const [at, segment] of segments.entries()) {
    const isLast = at === segments.length - 1;
    if (segment === "..") out.pop();
    if (segment === "." || segment === "..") {
      if (isLast) out.push("");
    } else out.push(segment);
  }
  return `/${out.join("/")}`;
}
