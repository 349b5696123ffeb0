import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { encodeFrame } from "@istiod/protobuf-wire";
import { workloadType } from "@istiod/resources";

/** A variant of the xDS protocol: delta or state of the world. */
export interface DiscoveryProtocol {
  /** HTTP/2 path of the method. */
  readonly path: string;
  /** Field numbers of `type_url` in requests and responses. */
  readonly requestTypeField: number;
  readonly responseTypeField: number;
  /** Encodes a request of the agent's own. @param error reason of a NACK, or of an unhealthy application */
  request(typeUrl: string, response?: { readonly nonce: string; readonly version: string }, error?: string): Buffer;
  /** Decodes a response that is addressed to the agent. */
  decodeResponse(message: Buffer): {
    readonly resources: readonly Any[];
    readonly nonce: string;
    readonly version: string;
  };
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
  decodeResponse(message) {
    const { resources, nonce, versionInfo } = fromBinary(DiscoveryResponseSchema, message);
    return { resources, nonce, version: versionInfo };
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
  decodeResponse(message) {
    const { resources, nonce, systemVersionInfo } = fromBinary(DeltaDiscoveryResponseSchema, message);
    return {
      resources: resources.flatMap(({ resource }) => (resource ? [resource] : [])),
      nonce,
      version: systemVersionInfo,
    };
  },
};

export const HEALTH_TYPE = "type.googleapis.com/istio.v1.HealthInformation";

/** Reports whether Envoy understands a type. Istio's other types are addressed to the agent. */
export function isEnvoyType(typeUrl: string): boolean {
  return typeUrl.startsWith("type.googleapis.com/envoy.") || typeUrl === workloadType;
}
