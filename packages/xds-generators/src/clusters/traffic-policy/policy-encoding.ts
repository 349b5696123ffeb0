import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type TrafficPolicy, TrafficPolicySchema } from "@istiod/istio-api/networking/v1alpha3/destination_rule";

/** A policy as a text, so that queries can have it as an argument and equal policies of different rules are one; empty for none. */
export function encodePolicy(policy: TrafficPolicy | undefined): string {
  if (policy === undefined) return "";
  let text = encodings.get(policy);
  if (text === undefined)
    encodings.set(policy, (text = marker + Buffer.from(toBinary(TrafficPolicySchema, policy)).toString("base64")));
  return text;
}

/** The policy of a text. */
export function decodePolicy(text: string): TrafficPolicy | undefined {
  return text === "" ? undefined : fromBinary(TrafficPolicySchema, Buffer.from(text.slice(marker.length), "base64"));
}

/** An empty policy is not the same as none. */
const marker = "=";

/** All ports and subsets of a service mostly have the very same policy. */
const encodings = new WeakMap<TrafficPolicy, string>();
