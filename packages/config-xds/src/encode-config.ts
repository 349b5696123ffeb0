import { createHash } from "node:crypto";
import { create, type Message, toBinary } from "@bufbuild/protobuf";
import { AnySchema, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ConfigObject } from "@istiod/config-schema";
import { MetadataSchema } from "@istiod/istio-api/mcp/v1alpha1/metadata";
import { ResourceSchema } from "@istiod/istio-api/mcp/v1alpha1/resource";
import type { ConfigType } from "./config-type.js";

/** Protobuf type of an encoded object. */
export const configMessageType = `type.googleapis.com/${ResourceSchema.typeName}`;

/**
 * Returns the `istio.mcp.v1alpha1.Resource` of an object. Labels and annotations that the kind does not keep are
 * missing. Equal objects have equal bytes.
 *
 * @throws TypeError if the kind's spec is no message
 */
export function encodeConfig({ kind }: ConfigType, object: ConfigObject<unknown, unknown>): Uint8Array {
  if (kind.schema === undefined) throw new TypeError(`${kind.kind} is no kind of Istio`);
  const value = toBinary(kind.schema, object.spec as Message);
  const body = create(AnySchema, { typeUrl: `type.googleapis.com/${kind.schema.typeName}`, value });
  const labels = sorted(object.labels);
  const annotations = sorted(object.annotations);
  return toBinary(
    ResourceSchema,
    create(ResourceSchema, {
      metadata: create(MetadataSchema, {
        name: `${object.namespace}/${object.name}`,
        // An absent time is a creation at the epoch, in Istio too.
        createTime: timestampFromMs(object.creationTimestamp),
        version: contentVersion(value, labels, annotations),
        labels,
        annotations,
      }),
      body,
    }),
  );
}

/** Istio's client updates an object only if its version differs. */
function contentVersion(spec: Uint8Array, labels: object, annotations: object): string {
  return createHash("sha256")
    .update(JSON.stringify([labels, annotations]))
    .update(spec)
    .digest("hex")
    .slice(0, 32);
}

function sorted(entries: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(entries).sort(([a], [b]) => (a < b ? -1 : 1)));
}
