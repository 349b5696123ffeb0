// The Go modules whose generated code has the descriptors of Envoy's API, and their download by `go`.
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";

/**
 * Modules, versions, and digests as in a go.sum. The first is released with Envoy and has its version; the versions of
 * the others are those that it requires.
 */
export const modules = [
  ["github.com/envoyproxy/go-control-plane/envoy", "v1.40.0", "h1:G4dcl8KE/HVPnZ25BBdvGZWi8JjyeBfQSvm95U5P1Qc="],
  [
    "github.com/envoyproxy/go-control-plane/contrib",
    "v1.36.1-0.20260729145720-a2d8c7492908",
    "h1:+7FtQqQ7Yfo5dgsAyTAIe8OhmUtWUw6VjeQ3by2Xdm4=",
  ],
  ["github.com/cncf/xds/go", "v0.0.0-20260202195803-dba9d589def2", "h1:aBangftG7EVZoUb69Os8IaYg++6uMOdKK83QtkkvJik="],
  ["cel.dev/expr", "v0.25.2", "h1:K6j46C81hXtZQfuX60cVWQFBJahKSE2gfRbNuvr5bFs="],
  ["go.opentelemetry.io/proto/otlp", "v1.11.0", "h1:5rrYs0Ykyj50sdU/JU0x8etU+LubXWb+gED6TbEdMIk="],
  ["github.com/prometheus/client_model", "v0.6.3", "h1:O0jaTVAYNxTHYInEPFJt5I3+sN8zqBtVMPTB1qyxiEo="],
  [
    "google.golang.org/genproto/googleapis/api",
    "v0.0.0-20260720211330-0afa2a65878a",
    "h1:97PfJ4tCxY5C7NzzgGqQEMZmXbISdvSArNNEOoUGKBg=",
  ],
  [
    "google.golang.org/genproto/googleapis/rpc",
    "v0.0.0-20260720211330-0afa2a65878a",
    "h1:qI/YMH1ep2qQtqcp00gMQyoU7mjvbhg88GJKCvfoLj0=",
  ],
];

/**
 * Downloads modules into Go's module cache, unless they are there.
 *
 * @param directory an empty directory outside of any Go module, which is created
 * @returns the directories with the content of the modules, in their order
 * @throws Error with one sentence that says what is missing
 */
export function downloadModules(directory, wanted = modules, env = process.env) {
  mkdirSync(directory, { recursive: true });
  const names = wanted.map(([path, version]) => `${path}@${version}`);
  const { error, stdout, stderr } = spawnSync("go", ["mod", "download", "-json", ...names], {
    cwd: directory,
    // The digests above decide; neither a workspace around the repository nor a checksum database is asked.
    env: { ...env, GOWORK: "off", GOFLAGS: "", GOSUMDB: "off" },
    encoding: "utf8",
    maxBuffer: 1 << 24,
    timeout: 300_000,
  });
  if (error?.code === "ENOENT") throw new Error("Envoy's API is downloaded by Go, and there is no go on PATH");
  if (error) throw new Error(`Envoy's API cannot be downloaded by Go: ${error.message}`);
  const found = new Map(parseObjects(stdout).map((each) => [`${each.Path}@${each.Version}`, each]));
  return names.map((name, i) => {
    const { Error: failure, Dir, Sum } = found.get(name) ?? { Error: lastLine(stderr) };
    if (failure !== undefined) throw new Error(reason(name, failure));
    if (Sum !== wanted[i][2]) throw new Error(`${name} has the digest ${Sum}, not the expected ${wanted[i][2]}`);
    return Dir;
  });
}

function reason(name, failure) {
  return /dial tcp|no such host|TLS handshake timeout|connection refused|proxyconnect|i\/o timeout/.test(failure)
    ? `Envoy's API (${name}) cannot be downloaded: the Go module proxy cannot be reached`
    : `Envoy's API (${name}) cannot be downloaded by Go: ${lastLine(failure)}`;
}

/** Parses JSON objects that follow each other, as `go` prints them: each ends with a brace alone on a line. */
function parseObjects(text) {
  return text
    .split(/^\}\n?/m)
    .filter((each) => each.trim() !== "")
    .map((each) => JSON.parse(`${each}}`));
}

function lastLine(text) {
  return text.trim().split("\n").at(-1) || "it says nothing";
}
