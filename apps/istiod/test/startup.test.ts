import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { folder, serve } from "./serving.js";

const ends: (() => unknown)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** Returns a port of loopback that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The status and body of a request whose target is sent as it is; -1 where nothing listens. */
async function request(port: number, path: string): Promise<readonly [status: number, body: string]> {
  const response = await new Promise<IncomingMessage | undefined>((resolve) =>
    get({ host: "127.0.0.1", port, path, agent: false }, resolve).on("error", () => resolve(undefined)),
  );
  return response === undefined ? [-1, ""] : [response.statusCode ?? 0, await text(response)];
}

describe("the HTTP port", () => {
  it("answers 503 at /ready with the reason until the first state is served", async () => {
    const config = await folder({ "mesh/services.yaml": "" });
    const port = await freePort();
    // Startup waits for the end of a burst of writes, at most 10 s.
    const file = join(config, "mesh/services.yaml");
    await appendFile(file, "# burst\n");
    const burst = setInterval(() => void appendFile(file, "# burst\n"), 20);
    ends.push(() => clearInterval(burst));
    const starting = serve(
      { configDir: join(config, "mesh"), httpAddr: `127.0.0.1:${port}` },
      { PILOT_DEBOUNCE_AFTER: "500ms" },
    );
    await vi.waitFor(async () => expect((await request(port, "/ready"))[0]).toBe(503), { timeout: 5000, interval: 10 });
    const [status, body] = await request(port, "/?format=json");
    expect(status).toBe(200);
    expect((JSON.parse(body) as { instance: { waitingFor: string[] } }).instance.waitingFor).toEqual([
      "the first full state",
    ]);
    clearInterval(burst);
    const istiod = await starting;
    expect((await request(port, "/ready"))[0]).toBe(200);
    await istiod.close();
    expect((await request(port, "/ready"))[0]).toBe(-1);
  });

  it("is closed if a later phase of startup fails", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    ends.push(() => taken.close());
    const monitoringAddr = `127.0.0.1:${(taken.address() as AddressInfo).port}`;
    const port = await freePort();
    const configDir = await folder({ "empty.yaml": "" });
    await expect(serve({ configDir, httpAddr: `127.0.0.1:${port}`, monitoringAddr })).rejects.toThrow(
      `--monitoringAddr ${monitoringAddr}: address already in use`,
    );
    expect((await request(port, "/ready"))[0]).toBe(-1);
  });

  it("answers 404 for paths that are not served, whatever their slashes", async () => {
    const istiod = await serve({ configDir: await folder({ "empty.yaml": "" }) });
    const port = istiod.addresses["httpAddr"]?.port ?? 0;
    // Served paths with slashes too many are redirected, as by Go's servers.
    for (const path of ["//", "//ready"]) expect([path, ...(await request(port, path))]).toEqual([path, 307, ""]);
    for (const path of ["//localhost/ready", "//missing", "/missing", "*"])
      expect([path, ...(await request(port, path))]).toEqual([path, 404, "404 page not found\n"]);
    expect((await request(port, "/ready"))[0]).toBe(200);
    expect((await request(port, "http://istiod/ready"))[0]).toBe(200);
  });
});
