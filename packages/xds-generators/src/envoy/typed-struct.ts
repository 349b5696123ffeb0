import type { JsonObject } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { TypedStructSchema } from "@istiod/envoy-api/udpa/type/v1/typed_struct";
import { packAny } from "./any.js";

/** The configuration of an extension whose message type is not compiled in, as a TypedStruct (udpa.type.v1). */
export function typedStruct(typeUrl: string, value: JsonObject): Any {
  return packAny(TypedStructSchema, { typeUrl, value });
}
