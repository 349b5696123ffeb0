import { toBinary } from "@bufbuild/protobuf";
import { UInt32ValueSchema } from "@bufbuild/protobuf/wkt";
import { CidrRangeSchema } from "@istiod/envoy-api/envoy/config/core/v3/address";
import {
  FilterChainMatchSchema,
  FilterChainSchema,
} from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { query, type QueryContext } from "@istiod/incremental";
import { encodeMessageField, encodeStringField, encodeVarintField, joinEncoded } from "@istiod/protobuf-wire";
import { parseCidrRange } from "../../envoy/cidr.js";
import { meshTlsSocket, type TlsPayload } from "../../security/tls/downstream-tls.js";
import { encodeChain, type FilterChainTemplate } from "../filter-chain-template.js";
import type { PortInspection } from "./inbound-listener-filters.js";
import type { InboundMatch } from "./inbound-matches.js";

/** An inbound filter chain without tracing. */
export interface InboundChainTemplate extends FilterChainTemplate {
  /** The traffic properties that its match depends on. */
  readonly inspected: PortInspection;
}

interface TemplateParts {
  readonly name: string;
  /** 0: any port. */
  readonly targetPort: number;
  readonly match: InboundMatch;
  readonly filters: FilterChainTemplate;
  /** Further encoded parts of the chain. */
  readonly more: readonly Uint8Array[];
  /** The transport socket by a user's TLS settings; absent: the mesh's. */
  readonly socket?: Uint8Array | undefined;
}

export function chainTemplate(
  q: QueryContext,
  { name, targetPort, match, filters, more, socket }: TemplateParts,
): InboundChainTemplate {
  const fields = FilterChainSchema.field;
  const parts = [
    encodeStringField(fields.name.number, name),
    encodeMessageField(fields.filterChainMatch.number, encodeMatch(match, targetPort)),
    filters.chain,
    ...more,
  ];
  if (match.terminatesTls) parts.push(socket ?? q.call(encodedMeshTlsSocket, match.payload));
  const http = match.applicationProtocols.some((protocol) => protocol === "http/1.1" || protocol === "h2c");
  const inspected = { port: targetPort, tls: match.transportProtocol === "tls", http };
  return { inspected, chain: joinEncoded(parts), ...(filters.manager && { manager: filters.manager }) };
}

function encodeMatch(
  { applicationProtocols, transportProtocol, destinations = [] }: InboundMatch,
  targetPort: number,
): readonly Uint8Array[] {
  const fields = FilterChainMatchSchema.field;
  return [
    ...(targetPort > 0
      ? [
          encodeMessageField(fields.destinationPort.number, [
            encodeVarintField(UInt32ValueSchema.field.value.number, targetPort),
          ]),
        ]
      : []),
    ...destinations.flatMap((address) => {
      const range = parseCidrRange(address);
      return range === undefined
        ? []
        : [encodeMessageField(fields.prefixRanges.number, [toBinary(CidrRangeSchema, range)])];
    }),
    encodeStringField(fields.transportProtocol.number, transportProtocol),
    ...applicationProtocols.map((protocol) => encodeStringField(fields.applicationProtocols.number, protocol)),
  ];
}

const encodedMeshTlsSocket = query("encodedMeshTlsSocket", (q, payload: TlsPayload): Uint8Array =>
  encodeChain({ transportSocket: q.call(meshTlsSocket, payload) }),
);
