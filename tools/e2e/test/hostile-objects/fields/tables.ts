import type { FieldTable } from "./field-table.js";
import { trafficPolicies } from "./traffic-policies.js";

/** The fields whose values Envoy bounds, with values on both sides of each bound. */
export const fieldTables: readonly FieldTable[] = [...trafficPolicies];
