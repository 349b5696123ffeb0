import { create } from "@bufbuild/protobuf";
import { type Duration, DurationSchema } from "@bufbuild/protobuf/wkt";
import {
  type Destination,
  DestinationSchema,
  type StringMatch,
  StringMatchSchema,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import type { BackendDestination } from "../backends.js";

/** Returns a match of strings. */
export function stringMatch(kind: "exact" | "prefix" | "regex", value: string): StringMatch {
  return create(StringMatchSchema, { matchType: { case: kind, value } });
}

/** Returns a duration. */
export function duration(milliseconds: number): Duration {
  return create(DurationSchema, {
    seconds: BigInt(Math.floor(milliseconds / 1000)),
    nanos: (milliseconds % 1000) * 1_000_000,
  });
}

/** Returns a destination. One without a host stands for a backend to which requests fail. */
export function destinationMessage(backend: BackendDestination | undefined): Destination {
  return create(DestinationSchema, backend && { host: backend.host, port: { number: backend.port } });
}
