import { readFile, unlink, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { meshSources } from "../src/sources.js";
import { flagValues, folder, serve } from "./serving.js";

const eventually = (assertion: () => Promise<void>): Promise<void> =>
  vi.waitFor(assertion, { timeout: 15_000, interval: 20 });
const virtualService = (name: string, host: string): string =>
  `{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: ${name}, namespace: shop}, ` +
  `spec: {hosts: [${name}], http: [{route: [{destination: {host: ${host}}}]}]}}`;

interface Configz {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly http: readonly [{ readonly route: readonly [{ readonly destination: { host: string } }] }];
  };
}

async function destinations(istiod: { readonly http: string }): Promise<Record<string, string>> {
  const configs = (await (await fetch(`${istiod.http}/debug/configz`)).json()) as readonly Configz[];
  return Object.fromEntries(
    configs
      .filter(({ kind }) => kind === "VirtualService")
      .map(({ metadata, spec }) => [metadata.name, spec.http[0].route[0].destination.host]),
  );
}

describe("configSources", () => {
  it("fs:// reads a directory, and follows its edits", async () => {
    const root = await folder({ "objects/a.yaml": virtualService("a", "one") });
    await writeFile(join(root, "mesh.yaml"), `configSources: [{address: "fs://${root}/objects"}]`);
    const istiod = await serve({ meshConfig: join(root, "mesh.yaml") });
    expect(await destinations(istiod)).toEqual({ a: "one" });
    await writeFile(join(root, "objects/a.yaml"), virtualService("a", "two"));
    await eventually(async () => expect(await destinations(istiod)).toEqual({ a: "two" }));
  });

  it("xds:// reads the objects of another istiod, with those that it reads from a third one", async () => {
    const root = await folder({
      "west/own.yaml": virtualService("west", "one"),
      "east/own.yaml": virtualService("east", "one"),
    });
    const env = { ENABLE_XDS_API_GENERATOR_AUTH: "false" };
    // The first one starts before the other one listens, so its first commit waits for it.
    const eastPort = await freePort();
    await writeFile(join(root, "west.yaml"), `configSources: [{address: "xds://127.0.0.1:${eastPort}"}]`);
    const west = serve(
      { configDir: join(root, "west"), meshConfig: join(root, "west.yaml"), grpcAddr: "127.0.0.1:0" },
      env,
    );
    const east = await serve({ configDir: join(root, "east"), grpcAddr: `127.0.0.1:${eastPort}` }, env);
    expect(await destinations(await west)).toEqual({ west: "one", east: "one" });
    await writeFile(join(root, "east/own.yaml"), virtualService("east", "two"));
    await eventually(async () => expect(await destinations(await west)).toEqual({ west: "one", east: "two" }));

    const westPort = (await west).addresses["grpcAddr"]?.port;
    await writeFile(join(root, "third.yaml"), `configSources: [{address: "xds://127.0.0.1:${westPort}"}]`);
    const third = await serve({ meshConfig: join(root, "third.yaml") }, env);
    expect(await destinations(third)).toEqual({ west: "one", east: "two" });
    await unlink(join(root, "west/own.yaml"));
    await eventually(async () => expect(await destinations(third)).toEqual({ east: "two" }));
    await east.close();
    await eventually(async () => {
      expect(await (await fetch(`${(await west).http}/ready`)).text()).toMatch(
        new RegExp(`^source xds://127.0.0.1:${eastPort}: stale since .* because `),
      );
    });
    expect(await destinations(third)).toEqual({ east: "two" });
    const verbose = await (await fetch(`${(await west).http}/healthz/ready?verbose`)).text();
    expect(verbose.split("\n")).toEqual([
      "[+]certificates: ok",
      "[+]Mesh configuration (" + join(root, "west.yaml") + "): current",
      "[+]Mesh networks (none): current",
      `[+]Cluster Kubernetes (${join(root, "west")}): current`,
      expect.stringMatching(`^\\[-\\]Configuration \\(xds://127.0.0.1:${eastPort}\\): stale, stale since .*$`),
      "",
    ]);
    expect((await fetch(`${(await west).http}/healthz/live`)).status).toBe(200);
  });

  it.each([
    ["nothing", "is no URL, expected fs:///path or xds://host:port"],
    ["fs://host/path", "has no path, expected fs:///path"],
    ["xds://host", "expected a host and a port, as in xds://host:port"],
    ["https://host:1", "scheme https: is not supported, expected fs:///path or xds://host:port"],
  ])("%s is an error", async (address, message) => {
    const root = await folder({ "mesh.yaml": `configSources: [{address: "${address}"}]` });
    await expect(serve({ meshConfig: join(root, "mesh.yaml") })).rejects.toThrow(
      `configSources[0].address: ${address}: ${message}`,
    );
  });

  it("TLS modes that would be plaintext in Istio are an error", async () => {
    const root = await folder({
      "mesh.yaml": `configSources: [{address: "xds://host:1", tlsSettings: {mode: ISTIO_MUTUAL}}]`,
    });
    await expect(serve({ meshConfig: join(root, "mesh.yaml") })).rejects.toThrow(
      "configSources[0].tlsSettings: mode: ISTIO_MUTUAL is not supported, expected DISABLE or SIMPLE",
    );
  });

  it("a token is sent over TLS to a server with the given root", async () => {
    const root = await folder({
      "config/a.yaml": virtualService("a", "one"),
      "tokens/istio-system/istiod": "token-of-a-control-plane",
      token: "token-of-a-control-plane\n",
    });
    const server = await serve({
      configDir: join(root, "config"),
      caDir: join(root, "ca"),
      tokensDir: join(root, "tokens"),
      secureGRPCAddr: "127.0.0.1:0",
    });
    const certificate = JSON.stringify(await readFile(join(root, "ca/ca-cert.pem"), "utf8"));
    const port = server.addresses["secureGRPCAddr"]?.port;
    const source = (settings: string): string =>
      `configSources: [{address: "xds://127.0.0.1:${port}", tlsSettings: {mode: SIMPLE, sni: istiod.istio-system.svc, caCertificates: ${certificate}${settings}}}]`;
    await writeFile(join(root, "mesh.yaml"), source(""));
    const reader = await serve({ meshConfig: join(root, "mesh.yaml"), configSourceTokenFile: join(root, "token") });
    expect(await destinations(reader)).toEqual({ a: "one" });
  });

  it("are needed if there is neither --configDir nor a cluster", () => {
    expect(() => meshSources(flagValues({}), {})).toThrow(
      "there is nothing to read: give --configDir for a directory or --kubeconfig for a cluster",
    );
  });
});

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
