import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { FakeClock } from "@istiod/runtime/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { archiveOf, startImageRegistry } from "../../src/testing/index.js";
import { BlockedAddresses } from "../../src/wasm/blocked-addresses.js";
import { parseImageReference } from "../../src/wasm/image-reference.js";
import { type ModuleRequest, ModuleStore, type ModuleStoreOptions } from "../../src/wasm/module-store.js";

const module = (text: string): Buffer =>
  Buffer.concat([Buffer.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]), Buffer.from(text)]);
const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise((resolve) => server.once("listening", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function storeOf(options: Partial<ModuleStoreOptions> = {}) {
  const directory = mkdtempSync(join(tmpdir(), "modules-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const clock = new FakeClock(1_000_000);
  const events: string[] = [];
  const store = new ModuleStore({
    directory,
    clock: { now: () => clock.now(), after: (_, callback) => clock.after(0, callback) },
    blocked: new BlockedAddresses(),
    insecureHosts: [],
    maxBytes: 4096,
    expiry: 60_000,
    requestTimeout: 5000,
    attempts: 3,
    events: {
      lookedUp: (isHit) => events.push(isHit ? "hit" : "miss"),
      fetched: (result) => events.push(result),
    },
    ...options,
  });
  const path = (url: string, more: Partial<ModuleRequest> = {}): Promise<string> =>
    store.path({
      ...{ url, checksum: "", resourceName: "a", resourceVersion: "1", pullPolicy: "", pullSecret: undefined },
      timeout: 10_000,
      ...more,
    });
  const content = async (...request: Parameters<typeof path>): Promise<string> =>
    readFileSync(await path(...request)).toString("latin1", 8);
  return { directory, clock, events, path, content };
}

describe("a module over HTTP", () => {
  it.each([
    ["as it is", module("m")],
    ["compressed", gzipSync(module("m"))],
    ["in an archive", archiveOf("any.wasm", module("m"))],
  ])("is fetched %s, once", async (_, body) => {
    let requests = 0;
    const url = await serve((_request, response) => {
      requests++;
      response.end(body);
    });
    const { content, events } = storeOf();
    expect(await Promise.all([content(url), content(url, { resourceName: "b" })])).toEqual(["m", "m"]);
    expect(await content(url, { resourceVersion: "2" })).toBe("m");
    expect([requests, ...events]).toEqual([1, "miss", "miss", "success", "hit"]);
  });

  it("is fetched again by policy Always after a change of the extension, and otherwise not", async () => {
    let version = 0;
    const url = await serve((_, response) => response.end(module(`v${++version}`)));
    const { content } = storeOf();
    const get = (pullPolicy: string, resourceVersion: string): Promise<string> =>
      content(url, { pullPolicy, resourceVersion });
    expect(await get("Always", "1")).toBe("v1");
    expect(await get("Always", "1")).toBe("v1");
    expect(await get("IfNotPresent", "2")).toBe("v1");
    expect(await get("Always", "3")).toBe("v2");
  });

  it("is used only with its checksum", async () => {
    const url = await serve((_, response) => response.end(module("m")));
    const { content, events } = storeOf();
    await expect(content(url, { checksum: "0".repeat(64) })).rejects.toThrow(
      `the checksum is ${sha256(module("m"))}, not the expected ${"0".repeat(64)}`,
    );
    expect(await content(url, { checksum: sha256(module("m")) })).toBe("m");
    expect(events).toEqual(["miss", "checksum_mismatched", "miss", "success"]);
  });

  it("is removed some time after its last use", async () => {
    const url = await serve(({ url: path = "" }, response) => response.end(module(path)));
    const { content, clock, directory } = storeOf();
    await content(`${url}/a`);
    clock.advance(59_000);
    await content(`${url}/b`);
    clock.advance(59_000);
    await content(`${url}/b`);
    expect(readdirSync(directory)).toEqual([`${sha256(module("/b"))}.wasm`]);
  });

  it("is tried again after errors of the server, and not after others", async () => {
    const paths: string[] = [];
    const url = await serve(({ url: path = "" }, response) => {
      paths.push(path);
      if (path === "/flaky" && paths.length === 3) response.end(module("m"));
      else response.writeHead(path === "/gone" ? 404 : 503).end();
    });
    const { content, clock } = storeOf();
    const advancing = setInterval(() => clock.advance(1), 5);
    onTestFinished(() => clearInterval(advancing));
    expect(await content(`${url}/flaky`)).toBe("m");
    await expect(content(`${url}/gone`)).rejects.toThrow("the server responded with 404");
    await expect(content(`${url}/failing`)).rejects.toThrow("the server responded with 503");
    expect(paths).toEqual(["/flaky", "/flaky", "/flaky", "/gone", "/failing", "/failing", "/failing"]);
  });

  it.each([
    ["that is no module", Buffer.from("<html>"), "the response is no module"],
    ["that is too large", module("m".repeat(5000)), "is larger than 4096 bytes"],
    [
      "that is too large after decompression",
      gzipSync(module("m".repeat(5000))),
      "the module is larger than 4096 bytes",
    ],
  ])("is refused %s", async (_, body, message) => {
    const url = await serve((_request, response) => response.end(body));
    await expect(storeOf({ attempts: 1 }).path(url)).rejects.toThrow(message);
  });

  it("is not fetched from blocked addresses, by address, by name or by redirect", async () => {
    const target = await serve((_, response) => response.end(module("m")));
    const url = await serve(({ url: path = "" }, response) =>
      response.writeHead(302, { location: path === "/metadata" ? "http://169.254.169.254/" : "/metadata" }).end(),
    );
    const { path } = storeOf();
    await expect(path(`${url}/first`)).rejects.toThrow("connections to 169.254.169.254 are blocked");
    await expect(path("http://[::ffff:169.254.169.254]/")).rejects.toThrow("are blocked");
    const blocking = storeOf({ blocked: new BlockedAddresses(["127.0.0.0/8", "::1/128"]) });
    await expect(blocking.path(target)).rejects.toThrow("connections to 127.0.0.1 are blocked");
    await expect(blocking.path(target.replace("127.0.0.1", "localhost"))).rejects.toThrow(
      "connections to the addresses of localhost are blocked",
    );
  });

  it("follows a few redirects, without credentials for others", async () => {
    const url = await serve(({ url: path = "" }, response) =>
      path === "/module"
        ? response.end(module("m"))
        : response.writeHead(307, { location: path === "/once" ? "/module" : path }).end(),
    );
    const { content } = storeOf();
    expect(await content(`${url}/once`)).toBe("m");
    await expect(content(`${url}/loop`)).rejects.toThrow("redirects more than 5 times");
    await expect(content("ftp://a/b")).rejects.toThrow("the URL has no supported scheme, expected http, https or oci");
  });
});

describe("a module in an image", () => {
  const oci = "application/vnd.oci.image.manifest.v1+json";
  const images = {
    oci: {
      type: oci,
      layer: { type: "application/vnd.oci.image.layer.v1.tar+gzip", content: archiveOf("plugin.wasm", module("m")) },
    },
    docker: {
      type: "application/vnd.docker.distribution.manifest.v2+json",
      layer: {
        type: "application/vnd.docker.image.rootfs.diff.tar.gzip",
        content: archiveOf("./plugin.wasm", module("m")),
      },
    },
    artifact: { type: oci, layer: { type: "application/vnd.module.wasm.content.layer.v1+wasm", content: module("m") } },
  };
  const registryOf = async (...options: Parameters<typeof startImageRegistry>) => {
    const registry = await startImageRegistry(...options);
    onTestFinished(() => registry.close());
    return registry;
  };

  it.each(Object.entries(images))("is pulled from an image of the type %s, by tag and digest", async (_, image) => {
    const registry = await registryOf();
    const digest = registry.push("team/a", "v1", image);
    const { content } = storeOf();
    const url = `oci://${registry.host}/team/a`;
    expect(await content(`${url}:v1`, { checksum: digest.slice("sha256:".length) })).toBe("m");
    expect(await content(`${url}@${digest}`)).toBe("m");
    // The module is known by its digest; the tag is looked up once.
    expect(registry.requests).toHaveLength(2);
  });

  it("is pulled for this platform", async () => {
    const registry = await registryOf();
    registry.push("a", "latest", { ...images.oci, isIndexed: true });
    expect(await storeOf().content(`oci://${registry.host}/a`)).toBe("m");
  });

  it("is pulled with the credentials of the pull secret, which are exchanged for a token", async () => {
    const registry = await registryOf({ credentials: "ann:secret" });
    registry.push("a", "v1", images.artifact);
    const url = `oci://${registry.host}/a:v1`;
    const secretOf = (auth: string): string =>
      JSON.stringify({ auths: { [`https://${registry.host}/v1/`]: { auth: Buffer.from(auth).toString("base64") } } });
    await expect(storeOf().path(url)).rejects.toThrow("the token server of image");
    await expect(storeOf().path(url, { pullSecret: secretOf("ann:wrong") })).rejects.toThrow("responded with 403");
    await expect(storeOf().path(url, { pullSecret: "no JSON" })).rejects.toThrow("the pull secret is no JSON object");
    const before = registry.requests.length;
    expect(await storeOf().content(url, { pullSecret: secretOf("ann:secret") })).toBe("m");
    expect(registry.requests.slice(before).map((line) => line.split(" ").at(-1))).toEqual([
      "/v2/a/manifests/v1",
      "Basic",
      "Bearer",
      "Bearer",
    ]);
  });

  it("is refused if its content does not have its digest, or is no module", async () => {
    const registry = await registryOf();
    registry.push("a", "v1", { ...images.artifact, served: module("other") });
    registry.push("b", "v1", {
      ...images.oci,
      layer: { ...images.oci.layer, content: archiveOf("other.wasm", module("m")) },
    });
    registry.push("c", "v1", { ...images.oci, layer: { type: "text/plain", content: module("m") } });
    const { path } = storeOf();
    const of = (name: string): Promise<string> => path(`oci://${registry.host}/${name}:v1`);
    await expect(of("a")).rejects.toThrow(/a layer of image .*\/a does not have its digest/);
    await expect(of("b")).rejects.toThrow(/image .*\/b has no module/);
    await expect(of("c")).rejects.toThrow(/image .*\/c has no layer with a module/);
    await expect(of("d")).rejects.toThrow(/image .*\/d: .* responded with 404/);
    await expect(path(`oci://${registry.host}/a:v1`, { checksum: "0".repeat(64) })).rejects.toThrow("the checksum is");
  });
});

it.each([
  ["nginx", { registry: "index.docker.io", repository: "library/nginx", version: "latest" }],
  ["docker.io/a/b:1", { registry: "index.docker.io", repository: "a/b", version: "1" }],
  ["example.com:5000/a/b/c", { registry: "example.com:5000", repository: "a/b/c", version: "latest" }],
  [
    `localhost/a@sha256:${"0".repeat(64)}`,
    { registry: "localhost", repository: "a", version: `sha256:${"0".repeat(64)}` },
  ],
  ["example.com/UPPER", undefined],
  ["", undefined],
  ["example.com/a@sha256:short", undefined],
])("the image %s is read as Docker does", (text, expected) => {
  expect(parseImageReference(text)).toEqual(expected);
});

it("ranges of blocked addresses must be CIDRs", () => {
  expect(() => new BlockedAddresses(["10.0.0.0"])).toThrow('is "10.0.0.0", expected a CIDR such as 10.0.0.0/8');
  expect(() => new BlockedAddresses(["10.0.0.0/33"])).toThrow("expected a CIDR");
});
