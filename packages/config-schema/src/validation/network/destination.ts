import type { Destination } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { checkPort } from "./addresses.js";
import { checkWildcardDomain, isDnsLabel } from "./names.js";
import type { Place } from "../place.js";

/** Checks the destination of a route. */
export function checkDestination(destination: Destination | undefined, place: Place): void {
  if (destination === undefined) return;
  if (destination.host === "*") place.at("host").error('is "*", expected the name of a service');
  else checkWildcardDomain(destination.host, place.at("host"));
  if (destination.subset !== "") checkSubsetName(destination.subset, place.at("subset"));
  if (destination.port !== undefined) checkPort(destination.port.number, place.at("port", "number"));
}

export function checkSubsetName(name: string, place: Place): void {
  if (!isDnsLabel(name))
    place.error(
      `is ${name === "" ? "missing" : JSON.stringify(name)}, expected at most 63 letters, digits and inner hyphens`,
    );
}
