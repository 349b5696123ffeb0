import type { Dimension } from "../dimension.js";
import { gatewayDimensions } from "./gateways.js";
import { routingDimensions } from "./routing.js";
import { serviceDimensions } from "./services.js";

/** All dimensions, in the order of the table. */
export const dimensions: readonly Dimension[] = [...serviceDimensions, ...routingDimensions, ...gatewayDimensions];
