import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type TrafficPolicy, TrafficPolicySchema } from "@istiod/istio-api/networking/v1alpha3/destination_rule";

/**
 * Encodes a policy as a string, so that it can be an argument of a query and equal policies of different rules are
 * shared. Empty for undefined.
 */
export function encodePolicy(policy: TrafficPolicy | undefined): string {
  if (policy === undefined) return "";
  let encoding = encodings.get(policy);
  if (encoding === undefined)
    encodings.set(policy, (encoding = marker + Buffer.from(toBinary(TrafficPolicySchema, policy)).toString("base64")));
  return encoding;
}

/** Decodes the result of `encodePolicy`. */
export function decodePolicy(encoding: string): TrafficPolicy | undefined {
  return encoding === ""
    ? undefined
    : fromBinary(TrafficPolicySchema, Buffer.from(encoding.slice(marker.length), "base64"));
}

/** Distinguishes an empty policy from none. */
const marker = "=";

/** Cached because ports and subsets of a service usually have the same policy object. */
const encodings = new WeakMap<TrafficPolicy, string>();
