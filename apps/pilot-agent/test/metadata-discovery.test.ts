import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findEnvoy } from "@istiod/envoy-binary";
import { describe, expect, it } from "vitest";
import { supportsMetadataDiscovery } from "../src/envoy/metadata-discovery.js";
import { NO_ENVOY } from "./agent-fixture.js";
import { scratch } from "./fakes.js";

const envoy = await findEnvoy();

/** Writes a script that replaces Envoy. */
async function program(script: string): Promise<{ readonly directory: string; readonly path: string }> {
  const directory = await scratch();
  const path = join(directory, "envoy");
  await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { directory, path };
}

describe("peer metadata discovery", () => {
  it("is supported by an Envoy that accepts a bootstrap with it", async () => {
    const { path, directory } = await program("exit 0");
    expect(await supportsMetadataDiscovery(path, directory)).toBe(true);
    expect(await supportsMetadataDiscovery("./envoy", directory)).toBe(true);
  });

  it("is not supported by an Envoy that does not know the extension", async () => {
    const { path, directory } = await program(
      `echo "Didn't find a registered implementation for 'metadata_discovery' with type URL: 'x'" >&2; exit 1`,
    );
    expect(await supportsMetadataDiscovery(path, directory)).toBe(false);
  });

  it("is assumed if the binary fails for another reason", async () => {
    const { path, directory } = await program("echo 'cannot read the certificate' >&2; exit 1");
    expect(await supportsMetadataDiscovery(path, directory)).toBe(true);
    expect(await supportsMetadataDiscovery(join(directory, "absent"), directory)).toBe(true);
  });

  it("is not supported by a stock Envoy", async ({ skip }) => {
    if (envoy === undefined) return skip(NO_ENVOY);
    expect(await supportsMetadataDiscovery(envoy, await scratch())).toBe(false);
  });
});
