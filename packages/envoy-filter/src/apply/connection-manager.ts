import { hash } from "node:crypto";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import {
  HttpConnectionManagerSchema,
  HttpFilterSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { joinEncoded, messageFieldParts } from "@istiod/protobuf-wire";
import { RecentMap } from "@istiod/runtime";
import { httpFilterOf, networkFilterOf } from "../match/listener-match.js";
import { Effects, type Patch, type Patches } from "../patch.js";
import { packedName } from "../value/packed.js";
import { splitParts, stringIn, takeFields } from "./encoded-fields.js";
import { EncodedFilters, isNamed, type PackedFilter } from "./encoded-filters.js";
import type { ListenerPlace } from "./listener-place.js";
import { routePatchesOf, RoutesPatcher } from "./route-configuration.js";

export const connectionManager = "envoy.filters.network.http_connection_manager";

const { httpFilters, routeConfig } = HttpConnectionManagerSchema.field;

/** Encoded HTTP filters after their patches, as fields of the connection manager. */
interface PatchedFilters {
  readonly fields: Uint8Array;
  readonly effects: Effects;
}

/** The number of different lists of HTTP filters, and of route configurations by name, of which results are kept. */
const [maxLists, maxRoutes] = [1000, 1000];

/**
 * Applies the same patches to the HTTP filters of any number of connection managers, and to their routes if they are
 * within. Many have the same filters: the last results are kept.
 */
export class ManagerPatcher {
  readonly #filters: EncodedFilters | undefined;
  readonly #patches: Patches;
  readonly #place: ListenerPlace;
  readonly #lists = new RecentMap<PatchedFilters>(maxLists);
  readonly #routes = new RecentMap<RoutesPatcher | "unpatched">(maxRoutes);

  /** @param ofFilters the patches of HTTP filters that match the chain */
  constructor(ofFilters: readonly Patch[], patches: Patches, place: ListenerPlace) {
    const matching = ofFilters.filter((patch) => isNamed(connectionManager, networkFilterOf(patch)));
    const absent = place.absentHttpFilters ?? [];
    this.#filters =
      matching.length === 0
        ? undefined
        : new EncodedFilters({ schema: HttpFilterSchema, patches: matching, nameOf: httpFilterOf, absent });
    this.#patches = patches;
    this.#place = place;
  }

  /** Returns a connection manager with the patches; undefined if the filter is another one. */
  patch(filter: PackedFilter, effects: Effects): PackedFilter | undefined {
    if (filter.name !== connectionManager || packedName(filter) !== HttpConnectionManagerSchema.typeName)
      return undefined;
    const { rest, fields } = takeFields(filter.values, httpFilters.number);
    return {
      ...filter,
      values: [...this.#withRoutes(rest, effects), ...this.#withFilters(fields, effects)],
    };
  }

  #withFilters(fields: readonly Uint8Array[], effects: Effects): readonly Uint8Array[] {
    const filters = this.#filters;
    if (filters === undefined) return fields;
    const [first] = fields;
    const joined = fields.length === 1 && first !== undefined ? first : joinEncoded(fields);
    const patched = this.#lists.getOrCompute(hash("sha256", joined, "base64"), () => patchedFilters(joined, filters));
    effects.addAll(patched.effects);
    return [patched.fields];
  }

  #withRoutes(fields: readonly Uint8Array[], effects: Effects): readonly Uint8Array[] {
    if (this.#place.patchesInlineRoutes === undefined) return fields;
    const { rest, elements } = splitParts(fields, routeConfig.number);
    if (elements.length === 0) return fields;
    const routes = joinEncoded(elements);
    const patcher = this.#routesPatcher(stringIn(routes, RouteConfigurationSchema.field.name.number));
    if (patcher === "unpatched") return fields;
    return [...rest, ...messageFieldParts(routeConfig.number, patcher.patch([[routes]], effects).flat())];
  }

  #routesPatcher(name: string): RoutesPatcher | "unpatched" {
    return this.#routes.getOrCompute(name, () => {
      const { context, patchesInlineRoutes } = this.#place;
      const matching = patchesInlineRoutes?.(name) === true && routePatchesOf(this.#patches, name, { context });
      return matching ? new RoutesPatcher(matching) : "unpatched";
    });
  }
}

function patchedFilters(fields: Uint8Array, filters: EncodedFilters): PatchedFilters {
  const effects = new Effects();
  const { elements } = splitParts([fields], httpFilters.number);
  const patched = filters.patch(elements, effects);
  return { fields: joinEncoded(patched.flatMap((parts) => messageFieldParts(httpFilters.number, parts))), effects };
}
