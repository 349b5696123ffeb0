import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";

export function any<D extends DescMessage>(schema: D, init: MessageInitShape<D>): Any {
  return anyPack(schema, create(schema, init));
}
