import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { environmentHelp, optionsPage } from "../src/commands/help.js";
import { requestAdmin } from "../src/commands/request.js";
import { waitUntilReady } from "../src/commands/wait.js";
import { allOptions } from "../src/options/table.js";
import { ISTIO_VERSION } from "../src/version.js";
import { freePort, scratch } from "./fakes.js";

const BIN = fileURLToPath(new URL("../bin/pilot-agent.js", import.meta.url));
const built = existsSync(fileURLToPath(new URL("../dist/main.js", import.meta.url)));

/** Runs the command as a user does. */
function run(args: string[], env: Record<string, string> = {}): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [BIN, ...args], { env: { PATH: process.env["PATH"] ?? "", ...env }, timeout: 20_000 }, (error, out, err) => {
      resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, out, err });
    });
  });
}

describe("the command line", () => {
  beforeEach(({ skip }) => skip(!built, "not built: npm run build"));

  it("explains itself from the same table that is read", async () => {
    const { code, out } = await run(["proxy", "--help"]);
    expect(code).toBe(0);
    for (const option of Object.values(allOptions)) expect(out).toContain(option.flag !== undefined ? `--${option.flag}` : (option.env ?? "?"));
    expect((await run(["version"])).out).toBe(`${ISTIO_VERSION}\n`);
  });

  it.each<[string, string[], Record<string, string>, RegExp]>([
    ["the type is not known", ["proxy", "waypoint"], {}, /^pilot-agent: proxy type "waypoint" is not known; expected sidecar or router\n$/],
    ["a variable is wrong", ["proxy"], { SECRET_TTL: "soon" }, /^pilot-agent: SECRET_TTL: "soon" is not a duration/],
    ["a flag is wrong", ["proxy", "--concurrency", "many"], {}, /^pilot-agent: --concurrency: "many" is not a whole number\n$/],
    ["istiod's root is missing", ["proxy", "sidecar", "--log_output_level", "silent"], {}, /^pilot-agent: the root certificate that istiod is verified against is missing: .*root-cert\.pem/],
    ["a command is not known", ["dance"], {}, /unknown command/],
  ])("says in a sentence when %s", async (_, args, env, words) => {
    const { code, err } = await run(args, { AGENT_DIRECTORY: await scratch(), ...env });
    expect(code).toBe(1);
    expect(err).toMatch(words);
    expect(err).not.toContain("    at ");
  });

  it("passes over flags of Istio's agent that it does not have, and names them", async () => {
    const { err } = await run(["proxy", "sidecar", "--controlPlaneBootstrap=false", "--stsPort", "15463"], { AGENT_DIRECTORY: await scratch() });
    expect(err).toContain("flags that this agent does not have are left out: --controlPlaneBootstrap=false --stsPort");
  });
});

describe("pilot-agent wait and request", () => {
  it("wait for readiness, and say what was the matter", async () => {
    let count = 0;
    const server = http.createServer((_, response) => response.writeHead(++count < 3 ? 503 : 200).end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    afterAll(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/healthz/ready`;
    await waitUntilReady({ url, timeout: 5000, requestTimeout: 500, period: 5 });
    expect(count).toBe(3);
    const closed = await freePort();
    await expect(waitUntilReady({ url: `http://127.0.0.1:${closed}/`, timeout: 30, requestTimeout: 500, period: 5 })).rejects.toThrow(/did not become ready within 0.03 s .*ECONNREFUSED/);
    expect(await requestAdmin("get", "stats", (server.address() as AddressInfo).port)).toBe("");
  });

  it("ask nothing but the proxy's ports on this machine", async () => {
    for (const path of ["http://example.com:15000/", "http://localhost:80/", "https://10.0.0.1:15020/"]) expect(() => requestAdmin("GET", path, 15000)).toThrow("is not a port of the proxy");
    expect(() => requestAdmin("DELETE", "/", 15000)).toThrow("expected GET or POST");
  });
});

describe("the documentation", () => {
  it("holds the table of settings as it is (rewrite it with UPDATE_DOCS=1)", async () => {
    const path = fileURLToPath(new URL("../../../docs/pilot-agent.md", import.meta.url));
    const page = await readFile(path, "utf8");
    const marker = "<!-- settings -->\n";
    const head = page.slice(0, page.indexOf(marker) + marker.length);
    const expected = `${head}\n${optionsPage()}`;
    if (process.env["UPDATE_DOCS"]) await (await import("node:fs/promises")).writeFile(path, expected);
    else expect(page).toBe(expected);
    expect(environmentHelp()).toContain("INSTANCE_IP");
  });
});
