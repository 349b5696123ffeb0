import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { clusterType, secretType } from "@istiod/xds-server";
import { XdsClient } from "@istiod/xds-server/testing";
import { expect, onTestFinished, test } from "vitest";
import { folder, serve } from "./serving.js";

const token = "token-of-the-web-app";

async function istiod(env: NodeJS.ProcessEnv) {
  const root = await folder({ "config/none.yaml": "", "tokens/shop/web": token });
  return serve(
    {
      configDir: join(root, "config"),
      caDir: join(root, "ca"),
      tokensDir: join(root, "tokens"),
      secureGRPCAddr: "127.0.0.1:0",
    },
    env,
  );
}

interface Caller {
  readonly port: "grpcAddr" | "secureGRPCAddr";
  readonly token?: string;
  /** Namespace that it claims. */
  readonly namespace?: string;
}

/** Opens a stream. Resolves to the result: accepted, or the error. */
async function open(
  { addresses }: Awaited<ReturnType<typeof istiod>>,
  { port, token: bearer, namespace = "shop" }: Caller,
): Promise<string> {
  const node = create(NodeSchema, {
    id: `sidecar~10.1.0.1~web.${namespace}~${namespace}.svc.cluster.local`,
    metadata: { NAMESPACE: namespace, SERVICE_ACCOUNT: "web" },
  });
  const proxy = new XdsClient(
    {
      host: "127.0.0.1",
      port: addresses[port]?.port ?? 0,
      ...(port === "secureGRPCAddr" && { tls: { rejectUnauthorized: false } }),
    },
    { variant: "delta", node, ...(bearer !== undefined && { headers: { authorization: `Bearer ${bearer}` } }) },
  );
  onTestFinished(() => proxy.close());
  proxy.subscribe(clusterType);
  const accepted = proxy.accept(clusterType).then(() => "accepted");
  const ended = proxy.ended.then((error) => error?.rawMessage ?? "ended");
  return Promise.race([accepted, ended]).catch((error: unknown) => (error as { rawMessage: string }).rawMessage);
}

const failure = "authentication failure";

test("by default callers of the TLS port are authenticated, and those in plaintext are not", async () => {
  const server = await istiod({});
  expect(await open(server, { port: "grpcAddr" })).toBe("accepted");
  expect(await open(server, { port: "secureGRPCAddr" })).toBe(failure);
  expect(await open(server, { port: "secureGRPCAddr", token })).toBe("accepted");
  expect(await open(server, { port: "secureGRPCAddr", token, namespace: "bank" })).toMatch(/^authorization failed: /);
}, 120_000);

test("with XDS_AUTH_PLAINTEXT callers in plaintext need the token of who they claim to be", async () => {
  const server = await istiod({ XDS_AUTH_PLAINTEXT: "true" });
  expect(await open(server, { port: "grpcAddr" })).toBe(failure);
  expect(await open(server, { port: "grpcAddr", token: "unknown" })).toBe(failure);
  expect(await open(server, { port: "grpcAddr", token })).toBe("accepted");
  expect(await open(server, { port: "grpcAddr", token, namespace: "bank" })).toMatch(/^authorization failed: /);
}, 120_000);

test("with XDS_AUTH_PLAINTEXT an istiod that can authenticate nobody rejects every caller", async () => {
  const configDir = await folder({ "none.yaml": "" });
  const server = await serve({ configDir, secureGRPCAddr: "" }, { XDS_AUTH_PLAINTEXT: "true" });
  expect(await open(server, { port: "grpcAddr", token })).toBe(failure);
}, 120_000);

test("without XDS_AUTH nobody is authenticated, also not in plaintext", async () => {
  const server = await istiod({ XDS_AUTH: "false", XDS_AUTH_PLAINTEXT: "true" });
  expect(await open(server, { port: "secureGRPCAddr", namespace: "bank" })).toBe("accepted");
  expect(await open(server, { port: "grpcAddr", namespace: "bank" })).toBe("accepted");
}, 120_000);

test("without PILOT_ENABLE_XDS_IDENTITY_CHECK authenticated callers may claim any namespace, and have no Secrets", async () => {
  const server = await istiod({ PILOT_ENABLE_XDS_IDENTITY_CHECK: "false" });
  expect(await open(server, { port: "secureGRPCAddr" })).toBe(failure);
  expect(await open(server, { port: "secureGRPCAddr", token, namespace: "bank" })).toBe("accepted");
  const port = server.addresses["secureGRPCAddr"]?.port ?? 0;
  const node = create(NodeSchema, {
    id: "router~10.1.0.1~web.shop~shop.svc.cluster.local",
    metadata: { NAMESPACE: "shop", SERVICE_ACCOUNT: "web" },
  });
  const proxy = new XdsClient(
    { host: "127.0.0.1", port, tls: { rejectUnauthorized: false } },
    { variant: "sotw", node, headers: { authorization: `Bearer ${token}` } },
  );
  onTestFinished(() => proxy.close());
  proxy.subscribe(secretType, ["kubernetes://front"]);
  await expect
    .poll(() => server.lines.map(({ msg }) => msg), { timeout: 60_000 })
    .toContain("secret not served: the proxy is not authenticated; secrets are served only on the TLS port");
}, 120_000);
