import { ScalarType } from "@bufbuild/protobuf";

/** Describes the YAML form of a scalar type, for error messages. */
export function scalarTypeName(type: ScalarType): string {
  switch (type) {
    case ScalarType.STRING:
      return "a string";
    case ScalarType.BOOL:
      return "true or false";
    case ScalarType.BYTES:
      return "base64 text";
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return "a number";
    case ScalarType.UINT32:
    case ScalarType.UINT64:
    case ScalarType.FIXED32:
    case ScalarType.FIXED64:
      return "an integer of 0 or more";
    default:
      return "an integer";
  }
}
