import { fromBinary, toJson } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { type Metadata } from "@istiod/istio-api/mcp/v1alpha1/metadata";
import { ResourceSchema } from "@istiod/istio-api/mcp/v1alpha1/resource";
import type { ConfigType } from "./config-type.js";
import { configMessageType } from "./encode-config.js";

/** A document as `decode` of config-schema reads it. */
export type ConfigDocument = Readonly<Record<string, unknown>>;

/** Namespace and name of an object. */
export interface ConfigIdentity {
  readonly namespace: string;
  readonly name: string;
}

/** Reason why a resource is no configuration object. */
export class ConfigResourceError extends Error {
  /** The object, if its name could be read. */
  readonly identity: ConfigIdentity | undefined;

  constructor(message: string, identity?: ConfigIdentity, options?: ErrorOptions) {
    super(message, options);
    this.name = "ConfigResourceError";
    this.identity = identity;
  }
}

/**
 * Returns the document of an encoded object. It is not validated.
 *
 * @param messageType type URL of the message. Default: that of `istio.mcp.v1alpha1.Resource`
 * @throws ConfigResourceError if the message is no object of the type
 */
export function decodeConfig(
  type: ConfigType,
  bytes: Uint8Array,
  messageType = configMessageType,
): { readonly document: ConfigDocument; readonly identity: ConfigIdentity } {
  if (messageType !== configMessageType)
    throw new ConfigResourceError(`resource: is ${messageType}, expected ${configMessageType}`);
  const { metadata, body } = wellFormed("resource", undefined, () => fromBinary(ResourceSchema, bytes));
  const identity = identityOf(metadata);
  const { kind, version } = type;
  const created = metadata?.createTime;
  const document = {
    apiVersion: `${kind.group}/${version}`,
    kind: kind.kind,
    metadata: {
      ...identity,
      labels: metadata?.labels ?? {},
      annotations: metadata?.annotations ?? {},
      ...(created !== undefined && created.seconds > 0n && { creationTimestamp: timestampDate(created).toISOString() }),
    },
    spec: readSpec(type, identity, body),
  };
  return { document, identity };
}

function identityOf(metadata: Metadata | undefined): ConfigIdentity {
  const text = metadata?.name ?? "";
  const [namespace, name, ...rest] = text.split("/");
  if (!namespace || !name || rest.length > 0)
    throw new ConfigResourceError(
      `metadata.name: is ${JSON.stringify(text)}, expected a namespace and a name, such as shop/cart`,
    );
  return { namespace, name };
}

function readSpec(
  { kind: { kind, schema } }: ConfigType,
  identity: ConfigIdentity,
  body: { readonly typeUrl: string; readonly value: Uint8Array } | undefined,
): unknown {
  if (schema === undefined) throw new TypeError(`${kind} is no kind of Istio`);
  const subject = `${kind} ${identity.namespace}/${identity.name}: body`;
  const messageType = body?.typeUrl.slice(body.typeUrl.lastIndexOf("/") + 1);
  if (body === undefined || messageType !== schema.typeName)
    throw new ConfigResourceError(
      `${subject}: is ${messageType === undefined ? "missing" : messageType}, expected ${schema.typeName}`,
      identity,
    );
  return wellFormed(subject, identity, () => toJson(schema, fromBinary(schema, body.value)));
}

function wellFormed<T>(subject: string, identity: ConfigIdentity | undefined, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new ConfigResourceError(`${subject}: cannot be decoded`, identity, { cause });
  }
}
