import { readFile, rm, stat } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { FakeIstiod } from "./fakes.js";
import { startedAgent } from "./proxyless-agent.js";

const bootstrapFile = "etc/istio/proxy/grpc-bootstrap.json";

async function fakeIstiod(): Promise<FakeIstiod> {
  const istiod = await FakeIstiod.start();
  onTestFinished(() => istiod.stop());
  return istiod;
}

it("the bootstrap names the agent's socket, the node and the certificate files", async () => {
  const env = {
    OUTPUT_CERTS: "./certs",
    ISTIO_META_CLUSTER_ID: "east",
    ISTIO_METAJSON_LABELS: '{"istio-locality":"a/b/c"}',
  };
  const { directory } = await startedAgent(await fakeIstiod(), { env });
  const bootstrap = JSON.parse(await readFile(join(directory, bootstrapFile), "utf8")) as Record<string, unknown>;
  expect(bootstrap).toMatchObject({
    xds_servers: [
      {
        server_uri: `unix://${join(directory, "etc/istio/proxy/XDS")}`,
        channel_creds: [{ type: "insecure" }],
        server_features: ["xds_v3"],
      },
    ],
    node: {
      id: "sidecar~127.0.0.1~cart-1.shop~shop.svc.cluster.local",
      metadata: { GENERATOR: "grpc", NAMESPACE: "shop", CLUSTER_ID: "east" },
      locality: { region: "a", zone: "b", sub_zone: "c" },
    },
    certificate_providers: {
      default: {
        plugin_name: "file_watcher",
        config: {
          certificate_file: join(directory, "certs/cert-chain.pem"),
          private_key_file: join(directory, "certs/key.pem"),
          ca_certificate_file: join(directory, "certs/root-cert.pem"),
        },
      },
    },
    server_listener_resource_name_template: "xds.istio.io/grpc/lds/inbound/%s",
  });
});

it("without certificate files there is no provider, and the locality is empty rather than absent", async () => {
  const { directory } = await startedAgent(await fakeIstiod(), { env: { GRPC_XDS_BOOTSTRAP: "./own.json" } });
  const { node, certificate_providers } = JSON.parse(await readFile(join(directory, "own.json"), "utf8"));
  expect(node.locality).toEqual({});
  expect(certificate_providers).toBeUndefined();
});

it("the agent is ready when the bootstrap and the certificates exist", async () => {
  const { directory, agent } = await startedAgent(await fakeIstiod(), { env: { OUTPUT_CERTS: "./certs" } });
  await vi.waitFor(() => agent.checkReady(), 10_000);
  // The only form that gRPC in Java reads.
  expect(await readFile(join(directory, "certs/key.pem"), "utf8")).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
  await rm(join(directory, "certs/key.pem"));
  await expect(agent.checkReady()).rejects.toThrow("gRPC applications need");
});

it("other containers may read the bootstrap and connect to the socket", async () => {
  const { directory } = await startedAgent(await fakeIstiod());
  const mode = async (file: string): Promise<number> => (await stat(join(directory, file))).mode & 0o777;
  expect(await mode(bootstrapFile)).toBe(0o644);
  expect(await mode("etc/istio/proxy/XDS")).toBe(0o666);
  expect((await mode("etc/istio/proxy")) & 0o005).toBe(0o005);
  const socket = connect(join(directory, "etc/istio/proxy/XDS"));
  onTestFinished(() => void socket.destroy());
  await new Promise<void>((resolve) => void socket.once("connect", () => resolve()));
});
