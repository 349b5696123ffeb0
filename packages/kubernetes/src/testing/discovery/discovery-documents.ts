import type { ServedType } from "./served-type.js";
import type { TypeRegistry } from "./type-registry.js";

/** A type that is not stored: its objects are answered at once. */
interface ReviewType {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

const review = (group: string, kind: string, namespaced = false): ReviewType => ({
  group,
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced,
});

/** Reviews in version v1. */
export const reviewTypes: readonly ReviewType[] = [
  review("authentication.k8s.io", "TokenReview"),
  review("authentication.k8s.io", "SelfSubjectReview"),
  review("authorization.k8s.io", "SubjectAccessReview"),
  review("authorization.k8s.io", "LocalSubjectAccessReview", true),
  review("authorization.k8s.io", "SelfSubjectAccessReview"),
];

const storedVerbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const subresourceVerbs = ["get", "patch", "update"];

interface Entry {
  readonly type: ServedType;
  readonly subresources: readonly string[];
}

function entriesOf(types: TypeRegistry, group: string, version: string): readonly Entry[] {
  return types.all.flatMap((type) => {
    const served = type.versions.find(({ name }) => name === version);
    if (type.group !== group || served === undefined) return [];
    return [{ type, subresources: served.hasStatus ? ["status"] : [] }];
  });
}

const reviewsOf = (group: string, version: string): readonly ReviewType[] =>
  version === "v1" ? reviewTypes.filter((type) => type.group === group) : [];

/** Returns the groups but the core group, each with its versions, the preferred one first. */
export function servedGroups(types: TypeRegistry): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  const add = (group: string, version: string): void => {
    const versions = groups.get(group) ?? [];
    if (!versions.includes(version)) versions.push(version);
    groups.set(group, versions);
  };
  for (const type of types.all) for (const { name } of type.versions) if (type.group !== "") add(type.group, name);
  for (const { group } of reviewTypes) add(group, "v1");
  return new Map([...groups].map(([group, versions]) => [group, versions.sort(comparePriority)]));
}

/** Orders versions as the API does: stable before beta before alpha, higher numbers first. */
export function comparePriority(a: string, b: string): number {
  const parse = (version: string): readonly number[] => {
    const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
    if (match === null) return [-1, 0, 0];
    const [, major = "0", stage, minor = "0"] = match;
    return [stage === undefined ? 2 : stage === "beta" ? 1 : 0, Number(major), Number(minor)];
  };
  const [left, right] = [parse(a), parse(b)];
  for (let at = 0; at < 3; at += 1) if (left[at] !== right[at]) return (right[at] ?? 0) - (left[at] ?? 0);
  return a < b ? -1 : a > b ? 1 : 0;
}

const groupBody = (name: string, versions: readonly string[]): Record<string, unknown> => {
  const listed = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: listed, preferredVersion: listed[0] };
};

export function apiVersions(): unknown {
  return { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] };
}

export function apiGroupList(types: TypeRegistry): unknown {
  const groups = [...servedGroups(types)].map(([name, versions]) => groupBody(name, versions));
  return { kind: "APIGroupList", apiVersion: "v1", groups };
}

/** Returns a group, undefined if it is not served. */
export function apiGroup(types: TypeRegistry, name: string): unknown {
  const versions = servedGroups(types).get(name);
  return versions === undefined ? undefined : { kind: "APIGroup", apiVersion: "v1", ...groupBody(name, versions) };
}

/** Returns the resources of a group and version, undefined if it is not served. */
export function apiResourceList(types: TypeRegistry, group: string, version: string): unknown {
  const entries = entriesOf(types, group, version);
  const reviews = reviewsOf(group, version);
  if (entries.length + reviews.length === 0) return undefined;
  const resources = entries.flatMap(({ type, subresources }) => [
    {
      name: type.plural,
      singularName: type.singular,
      namespaced: type.namespaced,
      kind: type.kind,
      verbs: storedVerbs,
      ...(type.shortNames.length > 0 && { shortNames: type.shortNames }),
      ...(type.categories.length > 0 && { categories: type.categories }),
    },
    ...subresources.map((name) => ({
      name: `${type.plural}/${name}`,
      singularName: "",
      namespaced: type.namespaced,
      kind: type.kind,
      verbs: subresourceVerbs,
    })),
  ]);
  const ofReviews = reviews.map(({ plural, kind, namespaced }) => ({
    name: plural,
    singularName: kind.toLowerCase(),
    namespaced,
    kind,
    verbs: ["create"],
  }));
  const groupVersion = group === "" ? version : `${group}/${version}`;
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources: [...resources, ...ofReviews] };
}

/** Returns all groups with their resources in one document: of `/api` the core group, of `/apis` the others. */
export function aggregatedDiscovery(types: TypeRegistry, isCore: boolean): unknown {
  const groups: ReadonlyMap<string, readonly string[]> = isCore ? new Map([["", ["v1"]]]) : servedGroups(types);
  const items = [...groups].map(([group, versions]) => ({
    metadata: { ...(group !== "" && { name: group }), creationTimestamp: null },
    versions: versions.map((version) => ({
      version,
      freshness: "Current",
      resources: [
        ...entriesOf(types, group, version).map(({ type, subresources }) => aggregated(type, subresources)),
        ...reviewsOf(group, version).map(({ plural, kind, namespaced }) => ({
          resource: plural,
          responseKind: responseKindOf(kind),
          scope: namespaced ? "Namespaced" : "Cluster",
          singularResource: kind.toLowerCase(),
          verbs: ["create"],
        })),
      ],
    })),
  }));
  return { kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2", metadata: {}, items };
}

/** Kinds are of the group and version around them, which the API leaves empty. */
const responseKindOf = (kind: string): object => ({ group: "", version: "", kind });

function aggregated(type: ServedType, subresources: readonly string[]): unknown {
  const responseKind = responseKindOf(type.kind);
  return {
    resource: type.plural,
    responseKind,
    scope: type.namespaced ? "Namespaced" : "Cluster",
    singularResource: type.singular,
    verbs: storedVerbs,
    ...(type.shortNames.length > 0 && { shortNames: type.shortNames }),
    ...(type.categories.length > 0 && { categories: type.categories }),
    ...(subresources.length > 0 && {
      subresources: subresources.map((subresource) => ({ subresource, responseKind, verbs: subresourceVerbs })),
    }),
  };
}
