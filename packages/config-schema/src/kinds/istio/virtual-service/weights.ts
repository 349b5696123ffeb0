import type { Destination } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { checkDestination } from "../../../validation/network/destination.js";
import { record } from "../../../decoding/json.js";
import { maxTotalWeight } from "../../../validation/numbers.js";
import { each, type Place } from "../../../validation/place.js";
import type { ShapeRule } from "../../../validation/shape.js";

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

/** Warns of weights that are missing where others have one, and of a weight of 0 that has no effect. */
export const statedWeights: ShapeRule = (route, place) => {
  if (!Array.isArray(route)) return;
  const weights = route.map((destination: unknown) => record(destination)?.["weight"] ?? undefined);
  const [first] = weights;
  if (weights.length === 1 && first === 0)
    place
      .at(0, "weight")
      .warning(
        "is 0, but the only destination gets all traffic, expected another destination, or a fault",
        "no-effect",
      );
  if (!weights.some((weight) => typeof weight === "number" && weight > 0)) return;
  for (const [i, weight] of weights.entries())
    if (weight === undefined)
      place.at(i).warning("has no weight and gets no traffic, expected a weight, since others have one", "weight");
};
