import type {
  LoadBalancerSettings,
  LoadBalancerSettings_ConsistentHashLB as ConsistentHash,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { checkDuration } from "../durations.js";
import { checkLocalityLb, checkZoneAwareLb } from "./locality.js";
import { each, type Place } from "../place.js";

/** Exclusive limit of Maglev's table size, which must be prime (Envoy's `MaglevLbConfig.table_size`). */
const maglevTableLimit = 5_000_011n;

export function checkLoadBalancer(
  settings: LoadBalancerSettings | undefined,
  hasOutlierDetection: boolean,
  place: Place,
): void {
  if (settings === undefined) return;
  if (settings.lbPolicy.case === "consistentHash")
    checkConsistentHash(settings.lbPolicy.value, place.at("consistentHash"));
  if (settings.localityLbSetting !== undefined && settings.zoneAwareLbSetting !== undefined) {
    place.at("zoneAwareLbSetting").error("is set together with localityLbSetting, expected only one of them");
  }
  checkLocalityLb(settings.localityLbSetting, hasOutlierDetection, place.at("localityLbSetting"));
  checkZoneAwareLb(settings.zoneAwareLbSetting, hasOutlierDetection, place.at("zoneAwareLbSetting"));
  const { warmup } = settings;
  if (warmup === undefined) return;
  checkDuration(warmup.duration, place.at("warmup", "duration"));
  if ((warmup.minimumPercent ?? 0) > 100)
    place.at("warmup", "minimumPercent").error(`is ${warmup.minimumPercent}, expected at most 100`);
  if (warmup.aggression !== undefined && !(warmup.aggression > 0))
    place.at("warmup", "aggression").error(`is ${warmup.aggression}, expected more than 0`);
}

function checkConsistentHash(hash: ConsistentHash, place: Place): void {
  if (hash.hashKey.case === "httpCookie") {
    const { name, attributes } = hash.hashKey.value;
    if (name === "") place.at("httpCookie", "name").error("is missing, expected the name of a cookie");
    const seen = new Set<string>();
    each(attributes, place.at("httpCookie", "attributes"), (attribute, at) => {
      if (attribute.name === "") at.at("name").error("is missing, expected the name of an attribute");
      else if (seen.has(attribute.name))
        at.at("name").error(`is ${attribute.name} a second time, expected unique attributes`);
      seen.add(attribute.name);
    });
  }
  if (hash.minimumRingSize !== 0n) {
    place.at("minimumRingSize").warning("is deprecated, expected ringHash.minimumRingSize");
    if (hash.hashAlgorithm.case !== undefined)
      place.at("minimumRingSize").error(`is set together with ${hash.hashAlgorithm.case}, expected only one of them`);
  }
  if (hash.hashAlgorithm.case !== "maglev") return;
  const { tableSize } = hash.hashAlgorithm.value;
  if (tableSize === 0n || tableSize >= maglevTableLimit || !isPrime(Number(tableSize)))
    place.at("maglev", "tableSize").error(`is ${tableSize}, expected a prime below ${maglevTableLimit}`);
}

/** Reports whether a number is prime; 1 counts as a prime, as in Envoy. */
function isPrime(value: number): boolean {
  if (value < 4) return value !== 0;
  if (value % 2 === 0) return false;
  for (let factor = 3; factor * factor <= value; factor += 2) if (value % factor === 0) return false;
  return true;
}
