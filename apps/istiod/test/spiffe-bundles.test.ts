import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { mint, type Minted } from "@istiod/ca/testing";
import { defaultMeshConfig, meshConfig, meshConfigKey } from "@istiod/config-schema";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { Database } from "@istiod/incremental";
import { MeshConfig_CertificateDataSchema } from "@istiod/istio-api/mesh/v1alpha1/config";
import { ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { readSpiffeBundle } from "@istiod/jwks";
import type { Proxy } from "@istiod/push-context";
import { proxyConfigType } from "@istiod/resources";
import { FakeClock } from "@istiod/runtime/testing";
import { spiffeBundles, trustAnchors } from "@istiod/xds-generators";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { openSpiffeBundles, type SpiffeBundlesInputs } from "../src/jwks/spiffe-bundles.js";
import { client, decoded, folder, serve } from "./serving.js";

const until = { timeout: 30_000, interval: 20 };

let ca: Minted;
let server: Minted;
let remote: Minted;
beforeAll(async () => {
  ca = await mint({ ca: true, subject: "CN=web" });
  server = await mint({ issuer: ca, names: [{ type: "ip", value: "127.0.0.1" }] });
  remote = await mint({ ca: true, subject: "CN=remote" });
});

/** A bundle endpoint on this machine whose answer a test may change. */
async function endpoint() {
  const jwk = remote.certificate.publicKey.export({ format: "jwk" });
  const key = { use: "x509-svid", ...jwk, x5c: [remote.certificate.raw.toString("base64")] };
  const state = { status: 200, body: JSON.stringify({ keys: [key] }), requests: 0 };
  const https: Server = createServer({ cert: server.pem, key: server.keyPem }, (_, response) => {
    state.requests++;
    response.writeHead(state.status, { "content-type": "application/json" }).end(state.body);
  });
  await new Promise<void>((resolve) => https.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    https.closeAllConnections();
    https.close();
  });
  return { state, url: `https://127.0.0.1:${(https.address() as AddressInfo).port}/bundle` };
}

it("agents are sent the roots of SPIFFE bundles with those of the CA, under ISTIO_MULTIROOT_MESH", async () => {
  const { url, state } = await endpoint();
  const files = await folder({
    "config/empty.yaml": "",
    "web.pem": ca.pem,
    "mesh.yaml": JSON.stringify({ caCertificates: [{ spiffeBundleUrl: url }, { spiffeBundleUrl: "http://a" }] }),
  });
  const start = (env: NodeJS.ProcessEnv) =>
    serve(
      {
        configDir: join(files, "config"),
        meshConfig: join(files, "mesh.yaml"),
        caDir: join(files, "ca"),
        secureGRPCAddr: "127.0.0.1:0",
      },
      { SSL_CERT_FILE: join(files, "web.pem"), ...env },
    );
  const sent = async (istiod: Awaited<ReturnType<typeof serve>>) => {
    const node = create(NodeSchema, { id: "sidecar~10.0.0.9~p.shop~shop.svc.cluster.local" });
    const stream = client(istiod, "delta", node);
    stream.subscribe(proxyConfigType);
    return decoded(ProxyConfigSchema, await stream.accept(proxyConfigType))[0]?.caCertificatesPem;
  };
  const istiod = await start({ ISTIO_MULTIROOT_MESH: "true" });
  const roots = await sent(istiod);
  expect(roots).toHaveLength(2);
  expect(roots).toContain(`${remote.pem.trim()}\n`);
  expect(istiod.lines.map(({ msg }) => msg)).toContain(
    "mesh configuration: caCertificates[1].spiffeBundleUrl is not an https URL, it is not fetched",
  );
  const verbose = await (await fetch(`${istiod.http}/ready?verbose`)).text();
  expect(verbose).toContain(`[+]SPIFFE bundle (${url}): current\n`);
  const metrics = await (await fetch(`${istiod.http}/metrics`)).text();
  expect(metrics).toContain('istiod_spiffe_bundles{state="current"} 1\n');

  const before = state.requests;
  const without = await start({ K8S_SIGNER: "example.com/mesh" });
  expect(await sent(without)).toBeUndefined();
  expect(state.requests).toBe(before);
  expect(without.lines.filter(({ level }) => level === "warn").map(({ msg }) => msg)).toEqual(
    expect.arrayContaining([
      "K8S_SIGNER is ignored without EXTERNAL_CA",
      "mesh configuration: caCertificates[0].spiffeBundleUrl has no effect without ISTIO_MULTIROOT_MESH=true",
      "mesh configuration: caCertificates[1].spiffeBundleUrl has no effect without ISTIO_MULTIROOT_MESH=true",
    ]),
  );
});

it("a bundle that cannot be refreshed stays active and is stale; it goes with its entry in the mesh configuration", async () => {
  const { url, state } = await endpoint();
  const files = await folder({ "web.pem": ca.pem });
  const database = new Database<Proxy>();
  const configure = (...urls: readonly string[]) =>
    database.commit((tx) => {
      const config = defaultMeshConfig();
      config.caCertificates = urls.map((value) =>
        create(MeshConfig_CertificateDataSchema, { certificateData: { case: "spiffeBundleUrl", value } }),
      );
      tx.set(meshConfig, meshConfigKey, config);
      tx.set(trustAnchors, "", []);
    });
  configure(url);
  const clock = new FakeClock();
  const ignore = () => undefined;
  const bundles = await openSpiffeBundles({
    settings: { jwks: { blockedRanges: [], rootsFile: join(files, "web.pem") } },
    meter: { observeGauge: ignore },
    log: { warn: ignore, info: ignore },
    database,
    clock,
  } as unknown as SpiffeBundlesInputs);
  onTestFinished(() => bundles.stop());
  const anchors = () =>
    [...database.all(spiffeBundles)].flatMap((text) => readSpiffeBundle(text).roots?.map((pem) => pem.trim()) ?? []);
  expect(anchors()).toEqual([remote.pem.trim()]);
  expect(bundles.statuses()).toEqual([{ name: "SPIFFE bundle", location: url, state: "current", reasons: [] }]);
  expect(clock.pending.every((delay) => delay > 26 * 60_000 && delay <= 30 * 60_000)).toBe(true);

  const good = state.body;
  for (const [status, body, reason] of [
    [503, "", /answers with status 503$/],
    [200, "{}", /^the answer has no keys$/],
    [200, "x".repeat(2 * 1024 * 1024), /longer than|at most|bytes/],
  ] as const) {
    Object.assign(state, { status, body });
    const { requests } = state;
    clock.advance(30 * 60_000);
    await expect.poll(() => state.requests, until).toBe(requests + 1);
    await expect.poll(() => bundles.statuses()[0]?.reasons[0], until).toMatch(reason);
    expect(bundles.statuses()[0]?.state).toBe("stale");
    expect(anchors()).toEqual([remote.pem.trim()]);
  }
  clock.advance(30 * 60_000);
  Object.assign(state, { status: 200, body: good });
  await expect.poll(() => (clock.advance(30 * 60_000), bundles.statuses()[0]?.state), until).toBe("current");

  configure();
  await expect.poll(() => (clock.advance(20), anchors()), until).toEqual([]);
  expect(bundles.statuses()).toEqual([]);
});
