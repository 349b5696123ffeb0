// A server of one large response in a process of its own, on a plaintext port and a port with TLS.
import { create, toBinary } from "@bufbuild/protobuf";
import { ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { resource } from "@istiod/resources";
import { clusterType, createXdsServer, staticSource, type TlsOptions } from "@istiod/xds-server";

export interface LargeServerOptions {
  /** Resources of about 2 KiB in the response. */
  readonly resources: number;
  readonly tls: TlsOptions;
}

export interface LargeServerMessage {
  readonly plaintext: number;
  readonly tls: number;
}

async function run({ resources, tls }: LargeServerOptions): Promise<LargeServerMessage> {
  const clusters = Array.from({ length: resources }, (_, i) => {
    const name = `outbound|8080||svc-${i}.ns-0.svc.cluster.local`;
    return resource(name, toBinary(ClusterSchema, create(ClusterSchema, { name, altStatName: "x".repeat(2000) })));
  });
  const server = createXdsServer(staticSource({ [clusterType]: clusters }));
  const [plain, secure] = await Promise.all([server.listen({ port: 0 }), server.listen({ port: 0, tls })]);
  return { plaintext: plain.port, tls: secure.port };
}

if (process.send !== undefined) {
  process.once("message", (options) => void run(options as LargeServerOptions).then((ports) => process.send?.(ports)));
  process.on("disconnect", () => process.exit());
}
