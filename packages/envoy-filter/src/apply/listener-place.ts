import type { PatchContext } from "../patch.js";
import type { AbsentFilter } from "./absent-filters.js";

/** The use of a listener, which patches depend on. */
export interface ListenerPlace {
  readonly context: PatchContext;
  /** HTTP filters that this build of Envoy lacks. */
  readonly absentHttpFilters?: readonly AbsentFilter[];
  /** Network filters that this build of Envoy lacks. */
  readonly absentNetworkFilters?: readonly AbsentFilter[];
  /** Reports whether patches of routes apply to a route configuration within a connection manager. */
  readonly patchesInlineRoutes?: (name: string) => boolean;
}
