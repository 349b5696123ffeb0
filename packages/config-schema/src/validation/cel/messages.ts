import type { DescMessage } from "@bufbuild/protobuf";
import * as wellKnown from "@bufbuild/protobuf/wkt";

let messages: ReadonlyMap<string, DescMessage> | undefined;

/**
 * Returns a message that an expression may create: the well-known types of protobuf. Envoy takes all messages of its
 * build, which differs between builds.
 */
export function creatableMessage(name: string): DescMessage | undefined {
  messages ??= new Map(
    Object.values(wellKnown).flatMap((value) =>
      typeof value === "object" && "kind" in value && value.kind === "message" ? [[value.typeName, value]] : [],
    ),
  );
  return messages.get(name);
}
