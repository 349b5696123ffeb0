import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createXdsServer } from "@istiod/xds-server";
import { describe, expect, it } from "vitest";
import { toyMesh } from "./toy-mesh.js";

const xdsprobe = process.env["XDSPROBE"];

describe("xdsprobe check", () => {
  for (const transport of ["http2", "connect"] as const) {
    it(`passes over ${transport}`, { timeout: 600_000 }, async ({ skip }) => {
      if (xdsprobe === undefined) return skip("XDSPROBE does not name the binary of xdsprobe");
      const directory = await mkdtemp(join(tmpdir(), "xds-server-"));
      const flags = [
        "--services",
        "40",
        "--namespaces",
        "4",
        "--endpoints",
        "3",
        "--pods-with-sidecar",
        "10",
        "--seed",
        "1",
      ];
      expect(spawnSync(xdsprobe, ["gen", ...flags, "--out", directory]).status).toBe(0);
      const source = await toyMesh(directory);
      const server = createXdsServer(source);
      try {
        const { host, port } = await server.listen({ port: 0, transport });
        const child = spawn(xdsprobe, [
          "check",
          "--addr",
          `${host}:${port}`,
          "--proxies",
          join(directory, "proxies.json"),
          "--dir",
          directory,
        ]);
        let output = "";
        for (const stream of [child.stdout, child.stderr])
          stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
        const status = await new Promise((resolve) => child.once("close", resolve));
        if (status !== 0 || process.env["VERBOSE"]) console.log(output);
        expect(status).toBe(0);
      } finally {
        source.stop();
        await server.close({ graceMs: 0 });
        await rm(directory, { recursive: true });
      }
    });
  }
});
