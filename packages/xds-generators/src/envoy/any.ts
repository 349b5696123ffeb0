import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";

/** Packs a new message of the given type with its usual type URL. */
export function packAny<Desc extends DescMessage>(schema: Desc, init?: MessageInitShape<Desc>): Any {
  return anyPack(schema, create(schema, init));
}
