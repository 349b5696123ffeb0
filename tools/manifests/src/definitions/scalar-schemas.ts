import { ScalarType } from "@bufbuild/protobuf";
import type { JsonSchema } from "./json-schema.js";

const UINT32: JsonSchema = { type: "integer", minimum: 0, maximum: 4_294_967_295 };
const INT32: JsonSchema = { type: "integer", format: "int32" };
const INT64: JsonSchema = { type: "integer", format: "int64" };
// No maximum: Kubernetes' numbers cannot represent it.
const UINT64: JsonSchema = { type: "integer", minimum: 0 };
const DOUBLE: JsonSchema = { type: "number", format: "double" };
const nullable = (schema: JsonSchema): JsonSchema => ({ ...schema, nullable: true });

/** Schemas of scalar types, as in the JSON of Kubernetes: 64-bit integers are numbers. */
export const scalarSchemas: Readonly<Record<ScalarType, JsonSchema>> = {
  [ScalarType.DOUBLE]: DOUBLE,
  [ScalarType.FLOAT]: DOUBLE,
  [ScalarType.INT64]: INT64,
  [ScalarType.SINT64]: INT64,
  [ScalarType.SFIXED64]: INT64,
  [ScalarType.UINT64]: UINT64,
  [ScalarType.FIXED64]: UINT64,
  [ScalarType.INT32]: INT32,
  [ScalarType.SINT32]: INT32,
  [ScalarType.SFIXED32]: INT32,
  [ScalarType.UINT32]: UINT32,
  [ScalarType.FIXED32]: UINT32,
  [ScalarType.BOOL]: { type: "boolean" },
  [ScalarType.STRING]: { type: "string" },
  [ScalarType.BYTES]: { type: "string", format: "byte" },
};

/** Schemas of messages with a JSON form of their own. */
export const wellKnownSchemas: Readonly<Record<string, JsonSchema>> = {
  "google.protobuf.Any": { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  "google.protobuf.Struct": { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  "google.protobuf.Value": { "x-kubernetes-preserve-unknown-fields": true },
  "google.protobuf.Empty": { type: "object", maxProperties: 0 },
  "google.protobuf.Timestamp": { type: "string", format: "date-time" },
  "google.protobuf.Duration": {
    type: "string",
    "x-kubernetes-validations": [
      { rule: "duration(self) >= duration('1ms')", message: "must be a duration of at least 1ms, such as 5s" },
    ],
  },
  "google.protobuf.BoolValue": nullable({ type: "boolean" }),
  "google.protobuf.StringValue": nullable({ type: "string" }),
  "google.protobuf.DoubleValue": nullable(DOUBLE),
  "google.protobuf.FloatValue": nullable(DOUBLE),
  "google.protobuf.Int32Value": nullable(INT32),
  "google.protobuf.Int64Value": nullable(INT64),
  "google.protobuf.UInt32Value": nullable(UINT32),
  "google.protobuf.UInt64Value": nullable(UINT64),
};
