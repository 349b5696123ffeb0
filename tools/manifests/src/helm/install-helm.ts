import { spawn } from "node:child_process";
import { mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { builtHelm, CACHE, findHelm, HELM_VERSION } from "./find-helm.js";

/** Module that requires Helm, and the versions of libraries that the server of `tools/cluster` is built from. */
const MODULE = fileURLToPath(new URL("../../helm/", import.meta.url));
/** Those of the server as well, so that Go compiles common libraries once. Inlining and debug information take time. */
const FLAGS = "-trimpath '-gcflags=all=-l -dwarf=false'";

/**
 * Builds Helm by Go, unless there is one. Go verifies the modules by `helm/go.sum`.
 *
 * @returns the path of the executable
 * @throws Error with the last line of Go's output, if it fails
 */
export async function installHelm(env: NodeJS.ProcessEnv = process.env, cache = CACHE): Promise<string> {
  const there = await findHelm(env, cache);
  if (there !== undefined) return there;
  const target = builtHelm(cache);
  const partial = join(cache, `helm-${process.pid}.partial`);
  try {
    const linked = `-ldflags=-s -w -X helm.sh/helm/v3/internal/version.version=${HELM_VERSION}`;
    await runGo(["build", linked, "-o", partial, "helm.sh/helm/v3/cmd/helm"], {
      ...env,
      CGO_ENABLED: "0",
      GOFLAGS: FLAGS,
      GOGC: "off",
      GOMEMLIMIT: "2GiB",
      GOWORK: "off",
    });
    await mkdir(dirname(target), { recursive: true });
    await rename(partial, target);
  } finally {
    await rm(partial, { force: true });
  }
  return target;
}

async function runGo(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn("go", args, { cwd: MODULE, env, stdio: ["ignore", "ignore", "pipe"] });
  let output = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output = (output + text).slice(-4000)));
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once("error", (error: NodeJS.ErrnoException) =>
      reject(error.code === "ENOENT" ? new Error("Helm is built by Go, and there is no go on PATH") : error),
    );
    child.once("close", resolve);
  });
  if (status !== 0) throw new Error(`go build failed: ${output.trim().split("\n").at(-1) ?? ""}`);
}
