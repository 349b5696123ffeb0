import { isIP } from "node:net";
import type { JsonObject } from "@bufbuild/protobuf";
import { ipModeOf } from "./ip-mode.js";
import { parseIstioVersion } from "./istio-version.js";
import { type NodeMetadata, parseNodeMetadata } from "./node-metadata.js";
import { ProxyNodeError } from "./proxy-node-error.js";
import { type Locality, type Proxy, type ProxyType, proxyTypes } from "./proxy.js";

/** The fields of an xDS node that istiod reads, free of Envoy's message types. */
export interface Node {
  readonly id: string;
  readonly cluster?: string;
  readonly locality?: Partial<Locality>;
  readonly metadata?: JsonObject;
  /** Names of extensions; an empty list means unknown. */
  readonly extensions?: readonly string[];
  /** The version of Envoy: major and minor. */
  readonly envoyVersion?: readonly [major: number, minor: number];
  /** The program and its version as text; gRPC libraries report themselves so. */
  readonly userAgent?: { readonly name: string; readonly version: string };
}

/**
 * Returns the proxy that an xDS node describes (pilot/pkg/model/context.go, ParseServiceNodeWithMetadata).
 * @throws ProxyNodeError if the ID does not have four parts, the type is unknown, there is no address, or metadata is
 *   malformed.
 */
export function proxyFromNode(node: Node): Proxy {
  const rawMetadata = node.metadata ?? {};
  const metadata = parseNodeMetadata(rawMetadata);
  const parts = node.id.split("~");
  const [type, address, id, dnsDomain] = parts;
  if (
    parts.length !== 4 ||
    type === undefined ||
    address === undefined ||
    id === undefined ||
    dnsDomain === undefined
  ) {
    throw new ProxyNodeError(
      "invalid_id",
      `node id ${JSON.stringify(node.id)}: expected type~ip~name.namespace~domain`,
    );
  }
  if (!isProxyType(type)) {
    throw new ProxyNodeError(
      "invalid_type",
      `node id ${JSON.stringify(node.id)}: type must be one of ${proxyTypes.join(", ")}`,
    );
  }
  const ipAddresses = nodeAddresses(metadata, address);
  if (ipAddresses.length === 0) {
    throw new ProxyNodeError(
      "no_address",
      `node ${JSON.stringify(node.id)}: no valid IP address in its id or in INSTANCE_IPS`,
    );
  }
  return {
    type,
    nodeId: node.id,
    id,
    ipAddresses,
    ipMode: ipModeOf(ipAddresses),
    dnsDomain,
    namespace: nodeNamespace(metadata, dnsDomain),
    nodeCluster: node.cluster ?? "",
    ...(node.locality === undefined ? {} : { nodeLocality: completeLocality(node.locality) }),
    version: parseIstioVersion(metadata.ISTIO_VERSION ?? ""),
    metadata,
    rawMetadata,
    ...(node.extensions === undefined || node.extensions.length === 0 ? {} : { extensions: node.extensions }),
    ...(node.envoyVersion && { envoyVersion: node.envoyVersion }),
    ...(node.userAgent && { userAgent: node.userAgent }),
  };
}

/** Reports whether a text is the type of a proxy. */
export function isProxyType(text: string): text is ProxyType {
  return (proxyTypes as readonly string[]).includes(text);
}

function nodeAddresses(metadata: NodeMetadata, idAddress: string): readonly string[] {
  const reported = metadata.INSTANCE_IPS ?? [];
  if (reported.length > 0 && reported.every((address) => isIP(address) !== 0)) {
    return reported;
  }
  return isIP(idAddress) !== 0 ? [idAddress] : [];
}

function nodeNamespace(metadata: NodeMetadata, dnsDomain: string): string {
  if (metadata.NAMESPACE !== undefined && metadata.NAMESPACE !== "") {
    return metadata.NAMESPACE;
  }
  const dot = dnsDomain.indexOf(".");
  return dot < 0 ? "" : dnsDomain.slice(0, dot);
}

function completeLocality(locality: Partial<Locality>): Locality {
  return { region: locality.region ?? "", zone: locality.zone ?? "", subzone: locality.subzone ?? "" };
}
