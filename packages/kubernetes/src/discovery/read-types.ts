import type { ApiClient } from "../client/api-client.js";
import { ApiError } from "../api-error.js";
import { apiVersionOf, type ResourceType } from "../resource-type.js";

/** Types that a server serves, by API version, in the server's order of preference. */
export interface DiscoveredTypes {
  readonly byVersion: ReadonlyMap<string, readonly ResourceType[]>;
  /** API versions whose types could not be read, for example those of an extension server that is down. */
  readonly unknown: ReadonlySet<string>;
}

interface AggregatedDocument {
  readonly kind?: string;
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly {
      readonly version: string;
      readonly freshness?: string;
      readonly resources?: readonly {
        readonly resource: string;
        readonly responseKind?: { readonly group?: string; readonly version?: string; readonly kind?: string };
        readonly scope?: string;
      }[];
    }[];
  }[];
}

interface ClassicDocument {
  readonly versions?: readonly string[];
  readonly groups?: readonly { readonly name: string; readonly versions: readonly { readonly version: string }[] }[];
}

interface ResourceListDocument {
  readonly resources?: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[];
}

const aggregatedTypes = ["v2", "v2beta1"].map(
  (version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
);
const accept = [...aggregatedTypes, "application/json"].join(",");

/**
 * Reads the types that a server serves: by two requests where it has aggregated discovery (Kubernetes 1.27), otherwise
 * by one for each API version.
 *
 * @throws ApiError
 */
export async function readTypes(client: ApiClient, signal?: AbortSignal): Promise<DiscoveredTypes> {
  const byVersion = new Map<string, readonly ResourceType[]>();
  const unknown = new Set<string>();
  for (const path of ["/api", "/apis"]) {
    const document = await client.json<AggregatedDocument & ClassicDocument>({
      path,
      accept,
      ...(signal && { signal }),
    });
    if (document.kind === "APIGroupDiscoveryList") addAggregated(document, byVersion, unknown);
    else await addClassic(client, document, byVersion, unknown, signal);
  }
  return { byVersion, unknown };
}

function addAggregated(
  { items = [] }: AggregatedDocument,
  byVersion: Map<string, readonly ResourceType[]>,
  unknown: Set<string>,
): void {
  for (const { metadata, versions = [] } of items) {
    const group = metadata?.name ?? "";
    for (const { version, freshness, resources = [] } of versions) {
      const types = resources.flatMap(({ resource: plural, responseKind, scope }): ResourceType[] =>
        responseKind?.kind === undefined
          ? []
          : [{ group, version, kind: responseKind.kind, plural, namespaced: scope === "Namespaced" }],
      );
      if (freshness === "Stale") unknown.add(apiVersionOf({ group, version }));
      else byVersion.set(apiVersionOf({ group, version }), types);
    }
  }
}

async function addClassic(
  client: ApiClient,
  { versions = [], groups = [] }: ClassicDocument,
  byVersion: Map<string, readonly ResourceType[]>,
  unknown: Set<string>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const served = [
    ...versions.map((version) => ({ group: "", version, path: `/api/${version}` })),
    ...groups.flatMap(({ name: group, versions: ofGroup }) =>
      ofGroup.map(({ version }) => ({ group, version, path: `/apis/${group}/${version}` })),
    ),
  ];
  for (const { group, version, path } of served) {
    try {
      const { resources = [] } = await client.json<ResourceListDocument>({ path, ...(signal && { signal }) });
      const types = resources
        .filter(({ name }) => !name.includes("/"))
        .map(({ name: plural, kind, namespaced }) => ({ group, version, kind, plural, namespaced }));
      byVersion.set(apiVersionOf({ group, version }), types);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code === "aborted") throw error;
      unknown.add(apiVersionOf({ group, version }));
    }
  }
}
