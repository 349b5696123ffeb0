import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { requestAdmin } from "../src/commands/request.js";
import { waitUntilReady } from "../src/commands/wait.js";
import { captureTable } from "../src/options/capture-table.js";
import { allOptions } from "../src/options/table.js";
import { ISTIO_VERSION } from "../src/version.js";
import { NOT_BUILT } from "./agent-fixture.js";
import { type Setting, variablesOf } from "@istiod/settings";
import { freePort, scratch } from "./fakes.js";

const BIN = fileURLToPath(new URL("../bin/pilot-agent.js", import.meta.url));
const built = existsSync(fileURLToPath(new URL("../dist/main.js", import.meta.url)));

/** Runs the command line in a process. */
function run(args: string[], env: Record<string, string> = {}): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [BIN, ...args],
      { env: { PATH: process.env["PATH"] ?? "", ...env }, timeout: 20_000 },
      (error, out, err) => {
        resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, out, err });
      },
    );
  });
}

describe("the command line", () => {
  beforeEach(({ skip }) => skip(!built, NOT_BUILT));

  it("explains itself from the same table that is read", async () => {
    const { code, out } = await run(["proxy", "--help"]);
    expect(code).toBe(0);
    for (const setting of Object.values<Setting<unknown>>(allOptions))
      expect(out).toContain(setting.flag !== undefined ? `--${setting.flag}` : setting.variables[0]);
    expect((await run(["version"])).out).toBe(`${ISTIO_VERSION}\n`);
  });

  it.each<[string, string[], Record<string, string>, RegExp]>([
    [
      "the type is not known",
      ["proxy", "waypoint"],
      {},
      /^pilot-agent: proxy type "waypoint" must be sidecar or router\n$/,
    ],
    [
      "a variable is wrong",
      ["proxy"],
      { SECRET_TTL: "soon" },
      /^pilot-agent: invalid value "soon" for SECRET_TTL: expected a duration/,
    ],
    [
      "a flag is wrong",
      ["proxy", "--concurrency", "many"],
      {},
      /^pilot-agent: invalid value "many" for --concurrency: expected an integer\n$/,
    ],
    [
      "istiod's root is missing",
      ["proxy", "sidecar", "--log_output_level", "silent"],
      {},
      /^pilot-agent: root certificate for istiod not found: .*root-cert\.pem/,
    ],
    [
      "a compliance policy is not supported",
      ["proxy"],
      { COMPLIANCE_POLICY: "fips" },
      /^pilot-agent: invalid value "fips" for COMPLIANCE_POLICY: expected one of fips-140-2, fips-140-3, pqc\n$/,
    ],
    [
      "a credential fetcher is not known",
      ["proxy"],
      { CREDENTIAL_FETCHER_TYPE: "aws" },
      /^pilot-agent: invalid value "aws" for CREDENTIAL_FETCHER_TYPE: expected one of JWT, GoogleComputeEngine, Mock\n$/,
    ],
    ["a command is not known", ["dance"], {}, /unknown command/],
  ])("fails with one sentence when %s", async (_, args, env, words) => {
    const { code, err } = await run(args, { AGENT_DIRECTORY: await scratch(), ...env });
    expect(code).toBe(1);
    expect(err).toMatch(words);
    expect(err).not.toContain("    at ");
  });

  it("accepts a type after unknown flags and boolean flags", async () => {
    const env = { AGENT_DIRECTORY: await scratch() };
    for (const args of [
      ["--controlPlaneBootstrap=false", "gateway"],
      ["--controlPlaneAuthPolicy", "NONE", "gateway"],
      ["--log_as_json", "gateway"],
    ])
      expect((await run(["proxy", "--log_output_level=silent", ...args], env)).err).toBe(
        'pilot-agent: proxy type "gateway" must be sidecar or router\n',
      );
  });

  it("waits for the proxy at AGENT_BIND_ADDRESS", async () => {
    const { code, err } = await run(["wait", "--timeoutSeconds", "0"], { AGENT_BIND_ADDRESS: "127.0.0.2" });
    expect({ code, err }).toEqual({
      code: 1,
      err: "pilot-agent: the proxy did not become ready within 0 s (http://127.0.0.2:15021/healthz/ready: it was never asked)\n",
    });
  });

  it("warns once about ignored flags and variables of Istio, with the reason", async () => {
    const args = [
      "proxy",
      "--controlPlaneBootstrap=false",
      "--stsPort",
      "15463",
      "sidecar",
      "--templateFile",
      "x.json",
      "--proxyLogLevell=debug",
    ];
    const { err } = await run(args, {
      AGENT_DIRECTORY: await scratch(),
      WASM_PURGE_INTERVAL: "1h",
      ISTIO_BOOTSTRAP: "y.json",
      JWT_POLICY: "third-party-jwt",
      CREDENTIAL_IDENTITY_PROVIDER: "x",
      ISTIO_META_OWNER: "x",
      ISTIO_CPU_LIMITS: "1",
      PILOT_TRACE_SAMPLING: "1",
    });
    const lines = err
      .split("\n")
      .filter((line) => line.includes("\twarn\t"))
      .map((line) => line.split("\t")[2]);
    expect(lines).toEqual([
      "--stsPort=15463 is ignored: the agent exchanges no tokens",
      "--templateFile=x.json is ignored: Envoy's bootstrap has no template; use ISTIO_BOOTSTRAP_OVERRIDE",
      "unknown flag --controlPlaneBootstrap=false is ignored",
      "unknown flag --proxyLogLevell=debug is ignored; did you mean --proxyLogLevel?",
      "environment variables without effect are ignored: CREDENTIAL_IDENTITY_PROVIDER, ISTIO_BOOTSTRAP, WASM_PURGE_INTERVAL",
      "unknown environment variable ISTIO_CPU_LIMITS; did you mean ISTIO_CPU_LIMIT?",
    ]);
  });

  it("logs of istio-iptables have the level and format of --log_output_level and --log_as_json", async () => {
    const ignored = ["--cni-mode", "--log_target", "stdout", "--no-such-flag"];
    const logged = async (...args: string[]): Promise<readonly string[]> =>
      (await run(["istio-iptables", "--dry-run", ...ignored, ...args])).err.trimEnd().split("\n");
    const warnings = [
      "--cni-mode=true is ignored: the rules are the same",
      "--log_target=stdout is ignored: the agent writes one log, to standard error",
      "unknown flag --no-such-flag is ignored",
    ];
    const withDefault = await logged("--log_output_level=default:info");
    expect(withDefault.map((line) => line.split("\t").slice(1))).toEqual(warnings.map((text) => ["warn", text]));
    expect(await logged("--log_output_level=error")).toEqual([""]);
    const json = await logged("--log_as_json");
    expect(json.map((line) => (JSON.parse(line) as { readonly msg: string }).msg)).toEqual(warnings);
    for (const level of ["loud", "ads:loud", "default:info:x", ""])
      expect((await logged(`--log_output_level=${level}`))[0]?.split("\t").slice(1)).toEqual([
        "warn",
        `--log_output_level: has "${level}", expected a level: debug, info, warn, error, fatal, none; leaving it out`,
      ]);
    expect(await logged("--log_output_level=loud,error,ads:debug")).toEqual([""]);
  });
});

describe("pilot-agent wait and request", () => {
  it("wait for readiness, and report the last failure", async () => {
    let count = 0;
    const server = http.createServer((_, response) => response.writeHead(++count < 3 ? 503 : 200).end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    afterAll(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/healthz/ready`;
    await waitUntilReady({ url, timeout: 5000, requestTimeout: 500, period: 5 });
    expect(count).toBe(3);
    const closed = await freePort();
    await expect(
      waitUntilReady({ url: `http://127.0.0.1:${closed}/`, timeout: 30, requestTimeout: 500, period: 5 }),
    ).rejects.toThrow(/did not become ready within 0.03 s .*ECONNREFUSED/);
    expect(await requestAdmin("get", "stats", (server.address() as AddressInfo).port)).toBe("");
  });

  it("send requests to AGENT_BIND_ADDRESS", async () => {
    const server = http.createServer((request, response) => response.end(`${request.headers.host} ${request.url}`));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.2", resolve));
    afterAll(() => server.close());
    const { port } = server.address() as AddressInfo;
    expect(await requestAdmin("GET", "/stats", port, "127.0.0.2")).toBe(`127.0.0.2:${port} /stats`);
    expect(await requestAdmin("GET", `http://127.0.0.2:${port}/ready`, port, "127.0.0.2")).toBe(
      `127.0.0.2:${port} /ready`,
    );
  });

  it("reach Envoy on the loopback address of either family", async () => {
    for (const loopback of ["127.0.0.1", "::1"]) {
      const server = http.createServer((_, response) => response.end(loopback));
      await new Promise<void>((resolve) => server.listen(0, loopback, resolve));
      afterAll(() => server.close());
      expect(await requestAdmin("GET", "/stats", (server.address() as AddressInfo).port)).toBe(loopback);
    }
  });

  it("accept only the proxy's ports on this machine", async () => {
    for (const path of ["http://example.com:15000/", "http://localhost:80/", "https://10.0.0.1:15020/"])
      expect(() => requestAdmin("GET", path, 15000)).toThrow("is not a port of the proxy");
    expect(() => requestAdmin("DELETE", "/", 15000)).toThrow("expected GET or POST");
  });
});

describe("variables", () => {
  it("that are read are declared in a table", () => {
    const root = fileURLToPath(new URL("../src", import.meta.url));
    const sources = readdirSync(root, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
    const found = new Set(
      sources.flatMap((text) =>
        [...text.matchAll(/\benv(?:\?\.)?\["([A-Z][A-Z0-9_]+)"/g)].map(([, name = ""]) => name),
      ),
    );
    const known = new Set([...variablesOf(allOptions), ...variablesOf(captureTable)]);
    // A prefix of node metadata, and the system's own.
    expect([...found].filter((name) => !known.has(name)).sort()).toEqual(["ISTIO_METAJSON_LABELS", "PATH"]);
  });
});
