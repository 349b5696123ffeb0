import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { encodeFrame, FieldReader, readStringField } from "@istiod/protobuf-wire";
import { workloadType } from "@istiod/resources";
import { AgentError } from "../errors.js";
import type { ResourceRewriter } from "./agent-resources.js";

/** A variant of the xDS protocol: delta or state of the world. */
export interface DiscoveryProtocol {
  /** HTTP/2 path of the method. */
  readonly path: string;
  /** Field numbers of `type_url` in requests and responses. */
  readonly requestTypeField: number;
  readonly responseTypeField: number;
  /** Encodes a request of the agent's own. @param error reason of a NACK, or of an unhealthy application */
  request(typeUrl: string, response?: { readonly nonce: string; readonly version: string }, error?: string): Buffer;
  /** Decodes the resources of a response that is addressed to the agent. */
  decodeResources(message: Buffer): readonly Any[];
  /** Returns the frame of a response with rewritten resources. */
  rewrite(message: Buffer, rewriter: ResourceRewriter): Promise<Buffer>;
}

/** Field numbers of responses of both variants. */
const RESOURCES_FIELD = 2;
const NONCE_FIELD = 5;
const VERSION_FIELD = 1;
/** Limits of a response to the agent itself, which is decoded. A name table is one resource. */
export const MAX_AGENT_RESPONSE_BYTES = 16 * 1024 * 1024;
export const MAX_AGENT_RESOURCES = 64;
/** Unknown fields of the agent's own types are not kept. */
const DECODING = { readUnknownFields: false };

/** Reads the nonce and version of a response without decoding its resources. @throws WireError */
export function stateOf(message: Buffer): { readonly nonce: string; readonly version: string } {
  return { nonce: readStringField(message, NONCE_FIELD), version: readStringField(message, VERSION_FIELD) };
}

/**
 * Decodes the resources of a response to the agent itself.
 *
 * @throws AgentError `discovery` if the response exceeds a limit
 */
export function agentResources(protocol: DiscoveryProtocol, message: Buffer): readonly Any[] {
  if (message.length > MAX_AGENT_RESPONSE_BYTES)
    throw new AgentError("discovery", `response of ${message.length} bytes: at most ${MAX_AGENT_RESPONSE_BYTES}`);
  let count = 0;
  const reader = new FieldReader(message);
  while (reader.next()) if (reader.field === RESOURCES_FIELD) count++;
  if (count > MAX_AGENT_RESOURCES)
    throw new AgentError("discovery", `response with ${count} resources: at most ${MAX_AGENT_RESOURCES}`);
  return protocol.decodeResources(message);
}

const SERVICE = "/envoy.service.discovery.v3.AggregatedDiscoveryService";
const INTERNAL = 13;

const errorDetail = (message: string | undefined) =>
  message === undefined ? {} : { errorDetail: { code: INTERNAL, message } };

export const stateOfTheWorld: DiscoveryProtocol = {
  path: `${SERVICE}/StreamAggregatedResources`,
  requestTypeField: 4,
  responseTypeField: 4,
  request: (typeUrl, response, error) =>
    encodeFrame(
      toBinary(
        DiscoveryRequestSchema,
        create(DiscoveryRequestSchema, {
          typeUrl,
          ...(response ? { responseNonce: response.nonce, versionInfo: response.version } : {}),
          ...errorDetail(error),
        }),
      ),
    ),
  decodeResources: (message) => fromBinary(DiscoveryResponseSchema, message, DECODING).resources,
  rewrite: async (message, rewriter) => {
    const response = fromBinary(DiscoveryResponseSchema, message);
    const rewritten = await Promise.all(response.resources.map(rewriter));
    response.resources = rewritten.map(({ config }) => config);
    return encodeFrame(toBinary(DiscoveryResponseSchema, response));
  },
};

export const delta: DiscoveryProtocol = {
  path: `${SERVICE}/DeltaAggregatedResources`,
  requestTypeField: 2,
  responseTypeField: 4,
  request: (typeUrl, response, error) =>
    encodeFrame(
      toBinary(
        DeltaDiscoveryRequestSchema,
        create(DeltaDiscoveryRequestSchema, {
          typeUrl,
          ...(response ? { responseNonce: response.nonce } : {}),
          ...errorDetail(error),
        }),
      ),
    ),
  decodeResources: (message) =>
    fromBinary(DeltaDiscoveryResponseSchema, message, DECODING).resources.flatMap(({ resource }) =>
      resource ? [resource] : [],
    ),
  rewrite: async (message, rewriter) => {
    const response = fromBinary(DeltaDiscoveryResponseSchema, message);
    await Promise.all(
      response.resources.map(async (each) => {
        if (each.resource === undefined) return;
        const { config, isSubstitute } = await rewriter(each.resource);
        each.resource = config;
        // Envoy states the version when it reconnects. Istiod does not know this one, and sends the resource again.
        if (isSubstitute) each.version += "~substitute";
      }),
    );
    return encodeFrame(toBinary(DeltaDiscoveryResponseSchema, response));
  },
};

export const HEALTH_TYPE = "type.googleapis.com/istio.v1.HealthInformation";

/** Reports whether Envoy understands a type. Istio's other types are addressed to the agent. */
export function isEnvoyType(typeUrl: string): boolean {
  return typeUrl.startsWith("type.googleapis.com/envoy.") || typeUrl === workloadType;
}
