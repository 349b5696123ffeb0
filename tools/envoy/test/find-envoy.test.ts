import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { findEnvoy } from "@istiod/envoy-binary";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

describe("an Envoy is looked for", () => {
  let folder: string;
  const place = async (path: string): Promise<string> => {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, "#!/bin/sh\n");
    await chmod(file, 0o755);
    return file;
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "istiod-envoy-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("where ENVOY_PATH says, then on PATH, then where it was fetched to", async () => {
    const [named, onPath, fetched] = [
      await place("named/envoy"),
      await place("bin/envoy"),
      await place("cache/lib/python3.11/site-packages/envoy/_bin/envoy"),
    ];
    const cache = join(folder, "cache");
    const PATH = `${join(folder, "none")}:${join(folder, "bin")}`;
    expect(await findEnvoy({ ENVOY_PATH: named, PATH }, cache)).toBe(named);
    expect(await findEnvoy({ PATH }, cache)).toBe(onPath);
    expect(await findEnvoy({}, cache)).toBe(fetched);
    expect(await findEnvoy({ PATH: folder }, join(folder, "none"))).toBeUndefined();
  });

  it("and a wrong ENVOY_PATH is not passed over", async () => {
    await expect(findEnvoy({ ENVOY_PATH: "/nope/envoy" })).rejects.toThrow(
      "ENVOY_PATH is /nope/envoy, which cannot be executed",
    );
  });
});
