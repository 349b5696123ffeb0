import type {
  LoadBalancerSettings_ConsistentHashLB as ConsistentHash,
  LoadBalancerSettings_ConsistentHashLB_HTTPCookie as HttpCookie,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { checkDurationFits } from "../durations.js";
import { checkBytes, checkSingleLine, maxHeaderBytes } from "../envoy-text.js";
import { each, type Place } from "../place.js";

/** Exclusive limit of Maglev's table size, which must be prime (Envoy's `MaglevLbConfig.table_size`). */
const maglevTableLimit = 5_000_011n;
/** Maximum number of points on a ring (Envoy's `RingHashLbConfig.minimum_ring_size`). */
const maxRingSize = 8_388_608n;

export function checkConsistentHash(hash: ConsistentHash, place: Place): void {
  checkHashKey(hash.hashKey, place);
  if (hash.minimumRingSize !== 0n) {
    place.at("minimumRingSize").warning("is deprecated, expected ringHash.minimumRingSize");
    if (hash.hashAlgorithm.case !== undefined)
      place.at("minimumRingSize").error(`is set together with ${hash.hashAlgorithm.case}, expected only one of them`);
    checkRingSize(hash.minimumRingSize, place.at("minimumRingSize"));
  }
  if (hash.hashAlgorithm.case === "ringHash")
    checkRingSize(hash.hashAlgorithm.value.minimumRingSize, place.at("ringHash", "minimumRingSize"));
  if (hash.hashAlgorithm.case === "maglev") checkTableSize(hash.hashAlgorithm.value.tableSize, place);
}

function checkHashKey({ case: key, value }: ConsistentHash["hashKey"], place: Place): void {
  if (key === "httpCookie") checkCookie(value, place.at("httpCookie"));
  if (key === "httpQueryParameterName" && value === "")
    place.at("httpQueryParameterName").error("is empty, expected the name of a query parameter");
  if (key !== "httpHeaderName") return;
  if (value === "") place.at("httpHeaderName").error("is empty, expected the name of a header");
  checkSingleLine(value, place.at("httpHeaderName"));
  if (value !== "" && !/^:?[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(value))
    place
      .at("httpHeaderName")
      .warning(
        `is ${JSON.stringify(value)}, and no header has this name, so that requests have no hash, expected a name`,
        "never-matches",
      );
}

function checkCookie({ name, ttl, attributes }: HttpCookie, place: Place): void {
  if (name === "") place.at("name").error("is missing, expected the name of a cookie");
  checkDurationFits(ttl, place.at("ttl"));
  const seen = new Set<string>();
  each(attributes, place.at("attributes"), (attribute, at) => {
    if (attribute.name === "") at.at("name").error("is missing, expected the name of an attribute");
    else if (seen.has(attribute.name))
      at.at("name").error(`is ${JSON.stringify(attribute.name)} a second time, expected unique attributes`);
    seen.add(attribute.name);
    for (const field of ["name", "value"] as const) {
      checkSingleLine(attribute[field], at.at(field));
      checkBytes(attribute[field], maxHeaderBytes, at.at(field));
    }
  });
}

function checkRingSize(size: bigint, place: Place): void {
  if (size > maxRingSize) place.error(`is ${size}, expected at most ${maxRingSize}`);
}

/** Checks the size of a table. Envoy, which takes 1 for a prime, ends if it gets a table of one entry. */
function checkTableSize(tableSize: bigint, place: Place): void {
  if (tableSize >= maglevTableLimit || !isPrime(Number(tableSize)))
    place.at("maglev", "tableSize").error(`is ${tableSize}, expected a prime below ${maglevTableLimit}`);
}

function isPrime(value: number): boolean {
  if (value < 4) return value > 1;
  if (value % 2 === 0) return false;
  for (let factor = 3; factor * factor <= value; factor += 2) if (value % factor === 0) return false;
  return true;
}
