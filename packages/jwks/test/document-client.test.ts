import { createServer, type Server, type Socket } from "node:net";
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LookupAddress } from "node:dns";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  AddressRules,
  DocumentClient,
  type DocumentClientOptions,
  parseAddressRange,
  trustedRoots,
} from "../src/index.js";
import { hopRules } from "../src/http/hop-rules.js";
import { OidcProvider } from "../src/testing/index.js";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

let provider: OidcProvider;
beforeEach(async () => {
  provider = await OidcProvider.start();
  ends.push(() => provider.close());
});

function client(options: Partial<DocumentClientOptions> & { readonly blocked?: readonly string[] } = {}) {
  const { blocked = [], ...others } = options;
  const rules = new AddressRules(blocked.map(parseAddressRange));
  return new DocumentClient({ rules, secureContext: trustedRoots({}), ...others });
}

/** Resolves every name to these addresses, in this order of calls; the last ones stay. */
function resolving(...answers: readonly (readonly string[])[]): NonNullable<DocumentClientOptions["resolve"]> {
  let call = 0;
  return (_, done) => {
    const addresses = answers[Math.min(call++, answers.length - 1)] ?? [];
    done(
      null,
      addresses.map((address): LookupAddress => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  };
}

const get = (of: DocumentClient, url: string, timeoutMs = 30_000): Promise<string> => of.get(url, { timeoutMs });
const redirect = (path: string, location: string, status = 302): void =>
  provider.answer(path, (_, response) => void response.writeHead(status, { location }).end());

/** A server that answers every connection with these bytes. */
async function rawServer(answer: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("data", () => answer(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
}

describe("a document", () => {
  it("is fetched by address and by name, and through redirects", async () => {
    redirect("/a", "/b", 301);
    redirect("/b", provider.jwksUri, 307);
    const named = client({ resolve: resolving(["127.0.0.1"]) });
    expect(await get(client(), provider.jwksUri)).toBe(provider.jwks);
    expect(await get(client(), `${provider.issuer}/a`)).toBe(provider.jwks);
    expect(await get(named, `http://keys.example.com:${provider.port}/jwks`)).toBe(provider.jwks);
  });

  it("of a URL with a user name and password is fetched with them", async () => {
    const seen: (string | undefined)[] = [];
    provider.answer("/a", ({ headers }, response) => {
      seen.push(headers.authorization);
      response.writeHead(302, { location: `${provider.issuer}/b` }).end();
    });
    provider.answer("/b", ({ headers }, response) => {
      seen.push(headers.authorization);
      response.end("x");
    });
    await get(client(), `http://ann:secret@127.0.0.1:${provider.port}/a`);
    expect(seen).toEqual([`Basic ${Buffer.from("ann:secret").toString("base64")}`, undefined]);
  });

  it.each([
    ["FTP", "ftp://127.0.0.1/"],
    ["a file", "file:///etc/passwd"],
    ["text", "keys"],
    ["a long URL", `http://127.0.0.1/${"a".repeat(9000)}`],
  ])("is not fetched from %s", async (_, url) => {
    await expect(get(client(), url)).rejects.toMatchObject({ name: "JwksError", code: "url" });
  });
});

describe("a blocked address is not reached", () => {
  const blocked = ["127.0.0.0/8", "::1/128"];

  it.each([
    "127.0.0.1",
    "2130706433",
    "0x7f.1",
    "0177.0.0.1",
    "127.1",
    "0.0.0.0",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::1]",
    "[64:ff9b::7f00:1]",
  ])("as the address %s", async (host) => {
    await expect(get(client({ blocked }), `http://${host}:${provider.port}/jwks`)).rejects.toMatchObject({
      code: "address",
      message: expect.stringContaining("is in the blocked range") as string,
    });
    expect(provider.requestCount()).toBe(0);
  });

  it("by a name", async () => {
    const named = client({ blocked, resolve: resolving(["127.0.0.1", "::1"]) });
    await expect(get(named, `http://keys.example.com:${provider.port}/jwks`)).rejects.toMatchObject({
      code: "address",
      message: "keys.example.com resolves to 127.0.0.1, which is in the blocked range 127.0.0.0/8",
    });
    expect(provider.requestCount()).toBe(0);
  });

  it("although the name also has an allowed address: that is used", async () => {
    const named = client({ blocked: ["127.0.0.2/32"], resolve: resolving(["127.0.0.2", "127.0.0.1"]) });
    expect(await get(named, `http://keys.example.com:${provider.port}/jwks`)).toBe(provider.jwks);
  });

  it("by a name that resolves to another address the next time", async () => {
    // The connection asks the resolver once. What that answers is checked, and nothing else is connected to.
    const resolve = resolving(["127.0.0.2"], ["127.0.0.1"]);
    const named = client({ blocked: ["127.0.0.2/32"], resolve });
    await expect(get(named, `http://keys.example.com:${provider.port}/jwks`)).rejects.toMatchObject({
      code: "address",
    });
    const rebound = client({ blocked: ["127.0.0.1/32"], resolve: resolving(["127.0.0.3"], ["127.0.0.1"]) });
    await expect(get(rebound, `http://keys.example.com:${provider.port}/jwks`)).rejects.toMatchObject({
      code: "connection",
    });
    expect(provider.requestCount()).toBe(0);
  });

  it("through a redirect, by address or by name", async () => {
    redirect("/address", "http://169.254.169.254/latest/meta-data");
    redirect("/mapped", "http://[::ffff:169.254.169.254]/");
    redirect("/name", "http://metadata.example.com/");
    const named = client({ resolve: resolving(["169.254.169.254"]) });
    for (const path of ["/address", "/mapped", "/name"])
      await expect(get(named, `${provider.issuer}${path}`)).rejects.toMatchObject({ code: "address" });
  });

  it("of this machine through a redirect from elsewhere", () => {
    const [elsewhere, here] = [hopRules(new AddressRules()), hopRules(new AddressRules())];
    expect(elsewhere(true)("203.0.113.1")).toBeUndefined();
    expect(elsewhere(false)("203.0.113.2")).toBeUndefined();
    for (const address of ["127.0.0.1", "::1", "0.0.0.0", "::ffff:127.0.0.1"])
      expect(elsewhere(false)(address)).toBe("is an address of this machine, to which another server redirects");
    expect(here(true)("127.0.0.1")).toBeUndefined();
    expect(here(false)("::1")).toBeUndefined();
  });
});

describe("a fetch is bounded", () => {
  it("in the number of redirects", async () => {
    redirect("/loop", "/loop");
    await expect(get(client(), `${provider.issuer}/loop`)).rejects.toMatchObject({
      code: "redirect",
      message: "more than 10 redirects",
    });
    expect(provider.requestCount()).toBe(11);
  });

  it("in length, declared or not", async () => {
    provider.answer("/declared", (_, response) => void response.writeHead(200, { "content-length": 2000 }).end());
    provider.answer("/endless", (_, response) => {
      const write = (): void => {
        while (!response.destroyed && response.write("x".repeat(65_536)));
        if (!response.destroyed) response.once("drain", write);
      };
      write();
    });
    const small = client({ maxBytes: 1000 });
    for (const path of ["/declared", "/endless"])
      await expect(get(small, `${provider.issuer}${path}`)).rejects.toMatchObject({ code: "too-large" });
  });

  it("in time: without an answer, with headers or a body that never end, and with a TLS server that says nothing", async () => {
    const silent = await rawServer(() => undefined);
    const headers = await rawServer((socket) => void socket.write("HTTP/1.1 200 OK\r\nx: y\r\n"));
    const body = await rawServer((socket) => void socket.write("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{"));
    for (const url of [silent, headers, body, silent.replace("http:", "https:")])
      await expect(get(client(), url, 200)).rejects.toMatchObject({
        code: "timeout",
        message: "no answer within 200 ms",
      });
  });

  it("by whoever needs it no more", async () => {
    const silent = await rawServer(() => undefined);
    const abort = new AbortController();
    const fetched = client().get(silent, { timeoutMs: 60_000, signal: abort.signal });
    abort.abort();
    await expect(fetched).rejects.toMatchObject({ code: "aborted" });
  });
});

describe("an answer that is none", () => {
  it.each([
    ["a status of 404", "HTTP/1.1 404 Not Found\r\ncontent-length: 6\r\n\r\nsecret", "status"],
    ["a status of 304", "HTTP/1.1 304 Not Modified\r\n\r\n", "status"],
    ["a redirect without a target", "HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n", "status"],
    ["a redirect to no URL", "HTTP/1.1 302 Found\r\nlocation: http://[\r\n\r\n", "redirect"],
    ["a redirect to another scheme", "HTTP/1.1 302 Found\r\nlocation: file:///etc/passwd\r\n\r\n", "url"],
    ["another protocol", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", "status"],
    ["no HTTP", "\u0000\u0001secret\r\n\r\n", "connection"],
    ["huge headers", `HTTP/1.1 200 OK\r\nx: ${"y".repeat(100_000)}\r\n\r\n`, "connection"],
    ["a body that ends early", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{", "connection"],
    [
      "a body that is not UTF-8",
      Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n\xff\xfe", "latin1"),
      "document",
    ],
  ])("is an error without its content: %s", async (_, answer, code) => {
    const url = await rawServer((socket) => void socket.end(answer));
    const error = await get(client(), url).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "JwksError", code });
    expect((error as Error).message).not.toContain("secret");
    expect((error as Error).message.length).toBeLessThan(500);
  });

  it("names an address that refuses the connection", async () => {
    const { port } = provider;
    await provider.close();
    ends.length = 0;
    await expect(get(client(), `http://127.0.0.1:${port}/`)).rejects.toMatchObject({
      code: "connection",
      message: `connect ECONNREFUSED 127.0.0.1:${port}`,
    });
  });
});

describe("TLS", () => {
  let directory: string;
  let cert: string;
  let secure: OidcProvider;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "jwks-"));
    ends.push(() => rm(directory, { recursive: true, force: true }));
    const names = "subjectAltName=IP:127.0.0.1,DNS:keys.example.com";
    const [certFile, keyFile] = [join(directory, "cert.pem"), join(directory, "key.pem")];
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
    const files = ["-keyout", keyFile, "-out", certFile];
    execFileSync("openssl", ["req", "-x509", ...curve, "-nodes", "-subj", "/CN=keys", "-addext", names, ...files], {
      stdio: "ignore",
    });
    cert = await readFile(certFile, "utf8");
    secure = await OidcProvider.start({ tls: { cert, key: await readFile(keyFile, "utf8") } });
    ends.push(() => secure.close());
  });

  it("trusts additional roots as soon as their file is there", async () => {
    const extra = join(directory, "extra.pem");
    const extended = client({ secureContext: trustedRoots({ extraFiles: [extra] }) });
    await expect(get(extended, secure.jwksUri)).rejects.toMatchObject({ code: "connection" });
    await writeFile(extra, cert);
    expect(await get(extended, secure.jwksUri)).toBe(secure.jwks);
    await writeFile(extra, "");
    await expect(get(extended, secure.jwksUri)).rejects.toMatchObject({ code: "connection" });
  });

  it("keeps the other roots when an additional file is broken, and says so", async () => {
    const [system, extra] = [join(directory, "system.pem"), join(directory, "extra.pem")];
    await writeFile(system, cert);
    await writeFile(extra, "no certificate");
    const warnings: string[] = [];
    const secureContext = trustedRoots({
      systemFile: system,
      extraFiles: [extra],
      warn: (text) => warnings.push(text),
    });
    expect(await get(client({ secureContext }), secure.jwksUri)).toBe(secure.jwks);
    expect(warnings).toEqual([expect.stringContaining(extra)]);
  });

  it("checks the name of the server", async () => {
    const extra = join(directory, "cert.pem");
    const secureContext = trustedRoots({ extraFiles: [extra] });
    const named = client({ secureContext, resolve: resolving(["127.0.0.1"]) });
    expect(await get(named, `https://keys.example.com:${secure.port}/jwks`)).toBe(secure.jwks);
    await expect(get(named, `https://other.example.com:${secure.port}/jwks`)).rejects.toMatchObject({
      code: "connection",
    });
  });

  it("is not verified if the operator says so", async () => {
    expect(await get(client({ insecureSkipVerify: true }), secure.jwksUri)).toBe(secure.jwks);
  });

  it("is not left by a redirect", async () => {
    secure.answer("/a", (_, response) => void response.writeHead(302, { location: provider.jwksUri }).end());
    await expect(get(client({ insecureSkipVerify: true }), `${secure.issuer}/a`)).rejects.toMatchObject({
      code: "redirect",
      message: expect.stringContaining("from https to http") as string,
    });
    expect(provider.requestCount()).toBe(0);
  });
});
