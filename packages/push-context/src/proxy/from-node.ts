import { isIP } from "node:net";
import type { JsonObject } from "@bufbuild/protobuf";
import { ipModeOf } from "./ip-mode.js";
import { parseIstioVersion } from "./istio-version.js";
import { type NodeMetadata, parseNodeMetadata } from "./node-metadata.js";
import { ProxyNodeError } from "./proxy-node-error.js";
import { type Locality, type Proxy, type ProxyType, proxyTypes } from "./proxy.js";

/** The parts of an xDS node that matter, free of Envoy's message types. */
export interface Node {
  readonly id: string;
  readonly cluster?: string;
  readonly locality?: Partial<Locality>;
  readonly metadata?: JsonObject;
  /** Names of extensions; an empty list says nothing. */
  readonly extensions?: readonly string[];
}

/**
 * The proxy that an xDS node describes (pilot/pkg/model/context.go, ParseServiceNodeWithMetadata).
 * @throws ProxyNodeError where the id has not four parts, the type is unknown, no address is given or metadata is
 *   ill-formed.
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
      `node id ${JSON.stringify(node.id)}: type is none of ${proxyTypes.join(", ")}`,
    );
  }
  const ipAddresses = addressesOf(metadata, address);
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
    namespace: namespaceOf(metadata, dnsDomain),
    nodeCluster: node.cluster ?? "",
    ...(node.locality === undefined ? {} : { nodeLocality: wholeLocality(node.locality) }),
    version: parseIstioVersion(metadata.ISTIO_VERSION ?? ""),
    metadata,
    rawMetadata,
    ...(node.extensions === undefined || node.extensions.length === 0 ? {} : { extensions: node.extensions }),
  };
}

function isProxyType(text: string): text is ProxyType {
  return (proxyTypes as readonly string[]).includes(text);
}

function addressesOf(metadata: NodeMetadata, addressOfId: string): readonly string[] {
  const stated = metadata.INSTANCE_IPS ?? [];
  if (stated.length > 0 && stated.every((address) => isIP(address) !== 0)) {
    return stated;
  }
  return isIP(addressOfId) !== 0 ? [addressOfId] : [];
}

function namespaceOf(metadata: NodeMetadata, dnsDomain: string): string {
  if (metadata.NAMESPACE !== undefined && metadata.NAMESPACE !== "") {
    return metadata.NAMESPACE;
  }
  const dot = dnsDomain.indexOf(".");
  return dot < 0 ? "" : dnsDomain.slice(0, dot);
}

function wholeLocality(locality: Partial<Locality>): Locality {
  return { region: locality.region ?? "", zone: locality.zone ?? "", subzone: locality.subzone ?? "" };
}
