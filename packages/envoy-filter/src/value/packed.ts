import { create, type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";
import { messageType } from "./message-types.js";

/** Returns the full name of the message in an `Any`. */
export function packedName({ typeUrl }: Pick<Any, "typeUrl">): string {
  return typeUrl.slice(typeUrl.lastIndexOf("/") + 1);
}

/** Returns the message in an `Any` with its type; undefined if the type is unknown or the bytes are not of it. */
export function unpack(any: Any): { readonly schema: DescMessage; readonly message: Message } | undefined {
  const schema = messageType(packedName(any));
  if (schema === undefined) return undefined;
  try {
    return { schema, message: fromBinary(schema, any.value) };
  } catch {
    return undefined;
  }
}

/** Returns a message packed into an `Any`. */
export function pack(schema: DescMessage, message: Message): Any {
  return create(AnySchema, {
    typeUrl: `type.googleapis.com/${schema.typeName}`,
    value: toBinary(schema, message),
  });
}
