import { randomBytes } from "node:crypto";
import { access, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { nodeInputs } from "../bootstrap/write-bootstrap.js";
import type { WorkloadIdentity } from "../certificates/workload-identity.js";
import { AgentError } from "../errors.js";
import { buildNodeMetadata, type NodeMetadata } from "../node/metadata.js";
import type { AgentContext } from "../startup/context.js";
import { xdsSocket } from "../startup/discovery.js";

/** The files that gRPC applications of the pod read. */
export interface GrpcReadiness {
  /** @throws AgentError `file` that names the first file that does not exist */
  check(): Promise<void>;
}

/** The name template by which servers request their listeners. */
const listenerTemplate = "xds.istio.io/grpc/lds/inbound/%s";
/** Interval at which applications read their certificates. A renewed one replaces another long before that expires. */
const refreshInterval = "60s";

/** The inputs of {@link grpcBootstrap}. */
export interface GrpcBootstrapInputs {
  readonly nodeId: string;
  readonly node: Pick<NodeMetadata, "metadata" | "locality">;
  /** Absolute path of the agent's socket. */
  readonly socket: string;
  /** Absolute path of the directory with the workload's certificate; undefined if it is not written to files. */
  readonly certificates: string | undefined;
}

/**
 * Returns the bootstrap of gRPC libraries: istiod by the agent's socket, and a certificate provider `default`. The
 * locality is there even if it is unknown, because Node's library requires it. Source: gRFC A27, A29, A36;
 * pkg/istio-agent/grpcxds/grpc_bootstrap.go.
 */
export function grpcBootstrap({ nodeId, node, socket, certificates }: GrpcBootstrapInputs): JsonObject {
  const { region, zone, subZone } = node.locality;
  return {
    xds_servers: [
      {
        server_uri: `unix://${socket}`,
        channel_creds: [{ type: "insecure" }],
        server_features: ["xds_v3"],
      },
    ],
    node: {
      id: nodeId,
      metadata: { ...node.metadata, GENERATOR: "grpc" },
      locality: {
        ...(region !== undefined && { region }),
        ...(zone !== undefined && { zone }),
        ...(subZone !== undefined && { sub_zone: subZone }),
      },
    },
    ...(certificates !== undefined && {
      certificate_providers: { default: { plugin_name: "file_watcher", config: fileWatcher(certificates) } },
    }),
    server_listener_resource_name_template: listenerTemplate,
  };
}

function fileWatcher(directory: string): JsonObject {
  const { certificate, key, roots } = certificateFiles(directory);
  return {
    certificate_file: certificate,
    private_key_file: key,
    ca_certificate_file: roots,
    refresh_interval: refreshInterval,
  };
}

function certificateFiles(directory: string) {
  return {
    certificate: join(directory, "cert-chain.pem"),
    key: join(directory, "key.pem"),
    roots: join(directory, "root-cert.pem"),
  };
}

/**
 * Writes the bootstrap of gRPC applications (GRPC_XDS_BOOTSTRAP), readable by all containers of the pod.
 *
 * @returns the check that it and its certificates exist
 * @throws AgentError `file`
 */
export async function writeGrpcBootstrap(context: AgentContext, identity: WorkloadIdentity): Promise<GrpcReadiness> {
  const { options, proxy, resolvePath } = context;
  const file = resolvePath(options.grpcBootstrap);
  const certificates = options.outputCerts === "" ? undefined : resolvePath(options.outputCerts);
  const node = buildNodeMetadata(nodeInputs({ ...context, identity }));
  const bootstrap = grpcBootstrap({ nodeId: proxy.nodeId, node, socket: xdsSocket(context), certificates });
  await writeAtomically(file, JSON.stringify(bootstrap, undefined, 2));
  const awaited = [file, ...(certificates === undefined ? [] : Object.values(certificateFiles(certificates)))];
  return { check: () => checkFiles(awaited) };
}

async function writeAtomically(file: string, text: string): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString("hex")}`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o755 });
    await writeFile(temporary, text, { mode: 0o644, flag: "wx" });
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw AgentError.from(error, "file", `the bootstrap of gRPC cannot be written to ${file}`);
  }
}

async function checkFiles(files: readonly string[]): Promise<void> {
  for (const file of files)
    await access(file).catch((error: unknown) => {
      throw AgentError.from(error, "file", `gRPC applications need ${file}`);
    });
}
