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

/** What the xDS proxy needs to know of one of the two forms of the protocol. */
export interface DiscoveryProtocol {
  /** HTTP/2 path of the method. */
  readonly path: string;
  /** Number of the field `type_url` in requests and in responses. */
  readonly requestTypeField: number;
  readonly responseTypeField: number;
  /** A request of the agent's own; `error`: what is wrong, for a refusal or a health report. */
  request(typeUrl: string, answer?: { readonly nonce: string; readonly version: string }, error?: string): Buffer;
  /** Reads a response that is for the agent. */
  readResponse(message: Buffer): {
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
  request: (typeUrl, answer, error) =>
    encodeFrame(
      toBinary(
        DiscoveryRequestSchema,
        create(DiscoveryRequestSchema, {
          typeUrl,
          ...(answer ? { responseNonce: answer.nonce, versionInfo: answer.version } : {}),
          ...errorDetail(error),
        }),
      ),
    ),
  readResponse(message) {
    const { resources, nonce, versionInfo } = fromBinary(DiscoveryResponseSchema, message);
    return { resources, nonce, version: versionInfo };
  },
};

export const delta: DiscoveryProtocol = {
  path: `${SERVICE}/DeltaAggregatedResources`,
  requestTypeField: 2,
  responseTypeField: 4,
  request: (typeUrl, answer, error) =>
    encodeFrame(
      toBinary(
        DeltaDiscoveryRequestSchema,
        create(DeltaDiscoveryRequestSchema, {
          typeUrl,
          ...(answer ? { responseNonce: answer.nonce } : {}),
          ...errorDetail(error),
        }),
      ),
    ),
  readResponse(message) {
    const { resources, nonce, systemVersionInfo } = fromBinary(DeltaDiscoveryResponseSchema, message);
    return {
      resources: resources.flatMap(({ resource }) => (resource ? [resource] : [])),
      nonce,
      version: systemVersionInfo,
    };
  },
};

export const HEALTH_TYPE = "type.googleapis.com/istio.v1.HealthInformation";

/** Whether Envoy is to see a response of this type; what is Istio's own is for the agent. */
export function isForEnvoy(typeUrl: string): boolean {
  return typeUrl.startsWith("type.googleapis.com/envoy.") || typeUrl === workloadType;
}
