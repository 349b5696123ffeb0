/** The collection, object or subresource that a path names, or another path. */
export type RequestPath =
  | {
      readonly isResource: true;
      readonly group: string;
      readonly version: string;
      readonly namespace?: string;
      readonly plural: string;
      readonly name?: string;
      readonly subresource?: string;
    }
  | { readonly isResource: false };

const notResource: RequestPath = { isResource: false };

/** Parses the path of a request: `/api/v1/…`, `/apis/group/version/…`, or another one. */
export function parsePath(path: string): RequestPath {
  const segments = path.split("/").filter((segment) => segment !== "");
  const decoded = segments.map(decode);
  const [root, ...rest] = decoded;
  if (root === "api" && rest.length >= 2) return resourceIn("", rest[0] ?? "", rest.slice(1));
  if (root === "apis" && rest.length >= 3) return resourceIn(rest[0] ?? "", rest[1] ?? "", rest.slice(2));
  return notResource;
}

const decode = (segment: string): string => {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
};

const namespaceSubresources = new Set(["status", "finalize"]);

function resourceIn(group: string, version: string, segments: readonly string[]): RequestPath {
  const [first = "", second, third] = segments;
  const isNamespace = first === "namespaces" && second !== undefined;
  if (isNamespace && third !== undefined && !(namespaceSubresources.has(third) && segments.length === 3)) {
    return resourceAt({ group, version, namespace: second }, segments.slice(2));
  }
  return resourceAt({ group, version }, segments);
}

function resourceAt(
  scope: { readonly group: string; readonly version: string; readonly namespace?: string },
  [plural = "", name, ...subresource]: readonly string[],
): RequestPath {
  return {
    isResource: true,
    ...scope,
    plural,
    ...(name !== undefined && { name }),
    ...(subresource.length > 0 && { subresource: subresource.join("/") }),
  };
}
