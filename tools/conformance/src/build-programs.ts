import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

/** The Go module of the suite and of the programs of its images. */
const MODULE = fileURLToPath(new URL("../suite/", import.meta.url));
/** A folder that the repository ignores. */
const OUTPUT = fileURLToPath(new URL("../build/", import.meta.url));
/** Needed by the suite. Go downloads it as a module. */
const TOOLCHAIN = "go1.27.3";
const ECHO_BASIC = "sigs.k8s.io/gateway-api-conformance-images/echo-basic";

/** The programs of the suite, by path. */
export interface Programs {
  /** The suite, a test in Go. */
  readonly suite: string;
  /** Server of the image `echo-basic`, from its own sources. */
  readonly echoBasic: string;
  /** Server and client of the image `echo-advanced`. */
  readonly echoAdvanced: string;
  /** Folder of the sources of the Gateway API, with its CustomResourceDefinitions. */
  readonly gatewayApi: string;
}

/**
 * Builds the suite and the programs of its images by Go. Modules and the results of the compiler are kept in Go's own
 * caches.
 *
 * @throws Error with the last line of Go's output, if it fails
 */
export async function buildPrograms(): Promise<Programs> {
  await mkdir(OUTPUT, { recursive: true });
  const suite = join(OUTPUT, "conformance.test");
  await go("test", "-c", "-o", suite, ".");
  await go("build", "-o", OUTPUT, "./echo-advanced", ECHO_BASIC);
  const gatewayApi = await go("list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api");
  return {
    suite,
    echoBasic: join(OUTPUT, "echo-basic"),
    echoAdvanced: join(OUTPUT, "echo-advanced"),
    gatewayApi: gatewayApi.trim(),
  };
}

async function go(...args: string[]): Promise<string> {
  // Without inlining and debug information, as in the builds of `tools/cluster`, the compiler needs half of the time.
  const flags = { CGO_ENABLED: "0", GOFLAGS: "-trimpath '-gcflags=all=-l -dwarf=false'", GOWORK: "off" };
  const env = { ...process.env, ...flags, GOTOOLCHAIN: TOOLCHAIN };
  const child = spawn("go", args, { cwd: MODULE, env, stdio: ["ignore", "pipe", "pipe"] });
  const status = new Promise<number | null>((resolve, reject) => {
    child.once("error", (error: NodeJS.ErrnoException) =>
      reject(error.code === "ENOENT" ? new Error("the suite is built by Go, and there is no go on PATH") : error),
    );
    child.once("close", resolve);
  });
  const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), status]);
  if (code !== 0) throw new Error(`go ${args[0]} failed: ${errors.trim().split("\n").at(-1) ?? ""}`);
  return output;
}
