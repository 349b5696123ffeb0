import { addresses } from "./addresses.js";
import { authentication } from "./authentication.js";
import { extensions } from "./extensions.js";
import type { FieldTable } from "./field-table.js";
import { gatewayApi } from "./gateway-api.js";
import { gatewayTables } from "./gateways.js";
import { routes } from "./routes.js";
import { trafficPolicies } from "./traffic-policies.js";

/** The fields whose values Envoy bounds, with values on both sides of each bound. */
export const fieldTables: readonly FieldTable[] = [
  ...trafficPolicies,
  ...gatewayTables,
  ...authentication,
  ...routes,
  ...addresses,
  ...gatewayApi,
  ...extensions,
];
