import {
  EnvoyFilter_ApplyTo as ApplyTo,
  EnvoyFilter_Patch_Operation as Operation,
  EnvoyFilter_PatchContext as Context,
  type EnvoyFilter_EnvoyConfigObjectPatch as ConfigPatch,
  type EnvoyFilter_ListenerMatch as ListenerMatch,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import type { Place } from "../../../validation/place.js";
import { checkRegex, maxRegexLength } from "../../../validation/regex/regex.js";
import { canonicalFilterName } from "./former-names.js";

const connectionManagers = ["envoy.filters.network.http_connection_manager", "envoy.http_connection_manager"];

/** Kind of match that each `applyTo` requires. Others allow any. */
const matchOf: Readonly<Partial<Record<ApplyTo, "listener" | "routeConfiguration" | "cluster">>> = {
  [ApplyTo.LISTENER]: "listener",
  [ApplyTo.FILTER_CHAIN]: "listener",
  [ApplyTo.NETWORK_FILTER]: "listener",
  [ApplyTo.HTTP_FILTER]: "listener",
  [ApplyTo.ROUTE_CONFIGURATION]: "routeConfiguration",
  [ApplyTo.VIRTUAL_HOST]: "routeConfiguration",
  [ApplyTo.HTTP_ROUTE]: "routeConfiguration",
  [ApplyTo.CLUSTER]: "cluster",
};

export function checkPatch({ applyTo, match, patch }: ConfigPatch, place: Place): void {
  const ofWaypoint = match?.objectTypes.case === "waypoint";
  if (match !== undefined && (match.context === Context.WAYPOINT) !== ofWaypoint)
    place.at("match").error("has context WAYPOINT or a waypoint, expected both or neither");
  if (match?.context === Context.WAYPOINT) return;
  reportIneffective(applyTo, patch?.operation, place);
  if (applyTo === ApplyTo.INVALID) place.at("applyTo").error("is missing, expected the kind of configuration to patch");
  else if (patch === undefined) place.at("patch").error("is missing, expected an operation");
  else if (patch.operation === Operation.INVALID)
    place.at("patch", "operation").error("is missing, expected the operation of the patch");
  else if (patch.operation !== Operation.REMOVE && patch.value === undefined)
    place
      .at("patch", "value")
      .error(`is missing, expected a value where the operation is ${Operation[patch.operation]}`);
  const version = match?.proxy?.proxyVersion ?? "";
  if (version.length > maxRegexLength)
    place
      .at("match", "proxy", "proxyVersion")
      .warning(`has ${version.length} characters and is ignored, expected at most ${maxRegexLength}`);
  else if (version !== "") checkRegex(version, place.at("match", "proxy", "proxyVersion"));
  const wanted = matchOf[applyTo];
  const given = match?.objectTypes.case;
  if (wanted !== undefined && given !== undefined && given !== wanted)
    place.at("match", given).error(`is set with applyTo ${ApplyTo[applyTo]}, expected ${wanted}`);
  else if (wanted === "listener" && match?.objectTypes.case === "listener")
    checkListenerMatch(match.objectTypes.value, applyTo, place.at("match", "listener"));
}

const filters: readonly ApplyTo[] = [ApplyTo.LISTENER_FILTER, ApplyTo.NETWORK_FILTER, ApplyTo.HTTP_FILTER];

/** Warns of what no proxy gets, as in Istio. */
function reportIneffective(applyTo: ApplyTo, operation: Operation | undefined, place: Place): void {
  if (applyTo === ApplyTo.BOOTSTRAP)
    place.at("applyTo").warning("is BOOTSTRAP, which has no effect: agents write the bootstrap; use ProxyConfig");
  if (operation === Operation.MERGE_AND_REPLACE_LIST && filters.includes(applyTo))
    place.at("patch", "operation").warning(`has no effect with applyTo ${ApplyTo[applyTo]}; use MERGE or REPLACE`);
}

/** Warns of a name by which no filter of a proxy is found. */
function checkFilterName(name: string, place: Place): void {
  const canonical = canonicalFilterName(name);
  if (canonical !== undefined)
    place.warning(
      `is ${JSON.stringify(name)}, the name of Envoy's v2 API, which no filter has; write ${canonical}`,
      "never-matches",
    );
}

function checkListenerMatch({ filterChain, listenerFilter }: ListenerMatch, applyTo: ApplyTo, place: Place): void {
  checkFilterName(listenerFilter, place.at("listenerFilter"));
  const filter = filterChain?.filter;
  if (filter === undefined) return;
  const at = place.at("filterChain", "filter");
  checkFilterName(filter.name, at.at("name"));
  checkFilterName(filter.subFilter?.name ?? "", at.at("subFilter", "name"));
  if (applyTo === ApplyTo.LISTENER || applyTo === ApplyTo.FILTER_CHAIN)
    at.warning(`has no effect with applyTo ${ApplyTo[applyTo]}`);
  if (filter.name === "") at.at("name").error("is missing, expected the name of a filter");
  else if (filter.subFilter !== undefined) {
    if (applyTo !== ApplyTo.HTTP_FILTER) at.at("subFilter").error("is set, expected only with applyTo HTTP_FILTER");
    else if (!connectionManagers.includes(filter.name))
      at.at("name").error(`is ${JSON.stringify(filter.name)}, expected ${connectionManagers[0]} with subFilter`);
    else if (filter.subFilter.name === "")
      at.at("subFilter", "name").error("is missing, expected the name of a filter");
  }
}
