import { createRegistry, type Registry } from "@bufbuild/protobuf";
import * as wellKnown from "@bufbuild/protobuf/wkt";
import { registry as envoy } from "@istiod/envoy-api/registry";

let messages: Registry | undefined;

/** All message types of Envoy's API, and protobuf's well-known types. */
export function messageTypes(): Registry {
  return (messages ??= createRegistry(
    ...envoy,
    ...Object.values(wellKnown).filter(
      (value) => typeof value === "object" && "kind" in value && value.kind === "message",
    ),
  ));
}

/** Returns the full name of a message for a type URL. */
export function typeName(typeUrl: string): string {
  return typeUrl.slice(typeUrl.lastIndexOf("/") + 1);
}
