import type { Destination } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { checkDestination } from "../../../validation/network/destination.js";
import { each, type Place } from "../../../validation/place.js";

/** Maximum sum of a route's weights, in Envoy's weighted clusters. */
const maxTotalWeight = 2 ** 32 - 1;

interface Weighted {
  readonly destination?: Destination | undefined;
  readonly weight: number;
}

/** Checks the weights of a route's destinations. A single destination needs none. */
export function checkWeights(route: readonly Weighted[], place: Place): void {
  each(route, place, ({ destination, weight }, at) => {
    if (destination === undefined) at.at("destination").error("is missing, expected a destination");
    checkDestination(destination, at.at("destination"));
    if (weight < 0) at.at("weight").error(`is ${weight}, expected 0 or more`);
  });
  const total = route.reduce((sum, { weight }) => sum + weight, 0);
  if (total > maxTotalWeight) place.error(`has weights of ${total} in all, expected at most ${maxTotalWeight}`);
  if (route.length > 1 && total === 0) place.error("has weights of 0 in all, expected some traffic to go somewhere");
}
