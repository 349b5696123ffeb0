import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { type Node, NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { AggregatedDiscoveryService } from "@istiod/envoy-api/envoy/service/discovery/v3/ads";
import { DiscoveryRequestSchema } from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { parseReply, type Replica, ReplicaError, type ReplicaReply } from "./replica.js";

/** Credentials of a replica towards another, and what it recognizes the other by. */
export interface ReplicaCredentials {
  /** PEM of the roots that verify the other replica's certificate. */
  readonly roots: string;
  /** Names of which the other replica's certificate must have one. */
  readonly serverNames: readonly string[];
  /** Namespace of the identity that the certificate or token proves. */
  readonly namespace: string;
  /** A client certificate and its key as PEM. */
  readonly certificate?: { readonly cert: string; readonly key: string };
  /** A bearer token. It is sent only after the other replica's certificate has been verified. */
  readonly token?: string;
}

export interface XdsReplicaOptions {
  /** Name for messages. */
  readonly name: string;
  /** Host and port of its xDS over TLS. */
  readonly address: string;
  /** Name of the caller, for the logs of the other replica. */
  readonly caller: string;
  /**
   * Returns the current credentials; the same object as long as they do not change. Rejects if there are none.
   *
   * @throws Error
   */
  readonly credentials: () => Promise<ReplicaCredentials>;
}

const debugType = "istio.io/debug";
/** The state of a large mesh is more than gRPC's default of 4 MiB. */
const maxAnswerBytes = 256 * 1024 * 1024;

/**
 * A replica that is asked over its xDS port with TLS, by the resource type `istio.io/debug`, as `istioctl` asks. Both
 * sides are authenticated: the replica by its certificate, the caller by a certificate or token, and the replica
 * authorizes the caller as any other of debug commands.
 */
export function xdsReplica({ name, address, caller, credentials }: XdsReplicaOptions): Replica {
  let open: { readonly of: ReplicaCredentials; readonly transport: Transport } | undefined;
  const transportOf = (of: ReplicaCredentials): Transport => {
    if (open?.of !== of) open = { of, transport: transportTo(address, of) };
    return open.transport;
  };
  return {
    name,
    ask: async (command, parameters, signal) => {
      const current = await credentials().catch((cause: unknown): never => {
        throw new ReplicaError("denied", `no credentials: ${(cause as Error).message}`, { cause });
      });
      const resource = `replica?${new URLSearchParams([["command", command], ...parameters]).toString()}`;
      return requestResource(transportOf(current), current, callerNode(caller, current), resource, signal);
    },
  };
}

async function requestResource(
  transport: Transport,
  { token }: ReplicaCredentials,
  node: Node,
  resource: string,
  signal: AbortSignal,
): Promise<ReplicaReply> {
  const done = new AbortController();
  const request = create(DiscoveryRequestSchema, { node, typeUrl: debugType, resourceNames: [resource] });
  const requests = (async function* () {
    yield request;
    // Open until the answer: a server may end a half-closed stream before it answers.
    await new Promise((resolve) => done.signal.addEventListener("abort", resolve, { once: true }));
  })();
  try {
    const stream = createClient(AggregatedDiscoveryService, transport).streamAggregatedResources(requests, {
      signal: AbortSignal.any([signal, done.signal]),
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    });
    for await (const { resources } of stream)
      return parseReply(Buffer.from(resources[0]?.value ?? new Uint8Array()).toString());
    throw new ReplicaError("unreachable", "ended the stream without an answer");
  } catch (error) {
    throw error instanceof ReplicaError ? error : replicaError(ConnectError.from(error));
  } finally {
    done.abort();
  }
}

function replicaError(error: ConnectError): ReplicaError {
  const isDenied = error.code === Code.Unauthenticated || error.code === Code.PermissionDenied;
  return new ReplicaError(isDenied ? "denied" : "unreachable", error.rawMessage, { cause: error });
}

function transportTo(address: string, { roots, serverNames, certificate }: ReplicaCredentials): Transport {
  return createGrpcTransport({
    baseUrl: `https://${address}`,
    readMaxBytes: maxAnswerBytes,
    idleConnectionTimeoutMs: 60_000,
    nodeOptions: {
      ca: roots,
      minVersion: "TLSv1.2",
      ...(serverNames[0] !== undefined && { servername: serverNames[0] }),
      checkServerIdentity: (_: string, presented: PeerCertificate) => serverNameFault(presented, serverNames),
      ...certificate,
    },
  });
}

/** Returns an error unless a certificate has one of the names. */
function serverNameFault(presented: PeerCertificate, names: readonly string[]): Error | undefined {
  if (names.some((name) => checkServerIdentity(name, presented) === undefined)) return undefined;
  return new Error(`its certificate has none of the names ${names.join(", ")}`);
}

function callerNode(name: string, { namespace }: ReplicaCredentials): Node {
  return create(NodeSchema, {
    id: `sidecar~127.0.0.1~${name}.${namespace}~${namespace}.svc.cluster.local`,
    metadata: { GENERATOR: "event", NAMESPACE: namespace },
  });
}
