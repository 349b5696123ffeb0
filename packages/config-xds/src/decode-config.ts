import { fromBinary, toJson } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { ResourceSchema } from "@istiod/istio-api/mcp/v1alpha1/resource";
import type { ConfigType } from "./config-type.js";

/** A document as `decode` of config-schema reads it. */
export type ConfigDocument = Readonly<Record<string, unknown>>;

/** Reason why a resource is no configuration object. */
export class ConfigResourceError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ConfigResourceError";
  }
}

/**
 * Returns the document of an encoded object. It is not validated.
 *
 * @throws ConfigResourceError if the bytes are no `istio.mcp.v1alpha1.Resource` of the type
 */
export function decodeConfig(type: ConfigType, bytes: Uint8Array): ConfigDocument {
  const { metadata, body } = wellFormed("resource", () => fromBinary(ResourceSchema, bytes));
  const [namespace, name, ...rest] = (metadata?.name ?? "").split("/");
  if (metadata === undefined || !namespace || !name || rest.length > 0)
    throw new ConfigResourceError(
      `metadata.name: is ${JSON.stringify(metadata?.name ?? "")}, expected a namespace and a name, such as shop/cart`,
    );
  const { kind, version } = type;
  const spec = readSpec(type, `${namespace}/${name}`, body);
  return {
    apiVersion: `${kind.group}/${version}`,
    kind: kind.kind,
    metadata: {
      namespace,
      name,
      labels: metadata.labels,
      annotations: metadata.annotations,
      ...(metadata.createTime !== undefined &&
        metadata.createTime.seconds !== 0n && { creationTimestamp: timestampDate(metadata.createTime).toISOString() }),
    },
    spec,
  };
}

function readSpec(
  { kind: { kind, schema } }: ConfigType,
  name: string,
  body: { readonly typeUrl: string; readonly value: Uint8Array } | undefined,
): unknown {
  if (schema === undefined) throw new TypeError(`${kind} is no kind of Istio`);
  const messageType = body?.typeUrl.slice(body.typeUrl.lastIndexOf("/") + 1);
  if (body === undefined || messageType !== schema.typeName)
    throw new ConfigResourceError(
      `${kind} ${name}: body: is ${messageType === undefined ? "missing" : messageType}, expected ${schema.typeName}`,
    );
  return wellFormed(`${kind} ${name}: body`, () => toJson(schema, fromBinary(schema, body.value)));
}

function wellFormed<T>(subject: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new ConfigResourceError(`${subject}: cannot be decoded`, { cause });
  }
}
