import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { clusterUnavailable } from "@istiod/cluster";
import { findHelm } from "@istiod/manifests";
import { nodesUnavailable } from "@istiod/nodes";
import { afterAll, expect, test } from "vitest";
import { commandBlocks } from "./pages/blocks.js";
import { PageShell } from "./pages/page-shell.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const page = "docs/air-gapped.md";
const blocks = commandBlocks(page, readFileSync(join(root, page), "utf8")).filter(
  ({ markers }) => markers.coveredBy === "tools/test/test/air-gapped.test.ts",
);

const helm = await findHelm();
const missing = (["skopeo", "docker-registry", "kubectl", "jq"] as const).filter(
  (program) => spawnSync("which", [program]).status !== 0,
);
const unbuilt = ["build/images/pilot", "build/images/proxyv2", "build/release/charts"].filter(
  (path) => !existsSync(join(root, path)),
);
const unavailable =
  (await clusterUnavailable()) ??
  (await nodesUnavailable()) ??
  (helm === undefined ? "there is no Helm: npm run helm:install" : undefined) ??
  (missing.length > 0 ? `there is no ${missing.join(", ")}: apt-get install skopeo docker-registry jq` : undefined) ??
  (unbuilt.length > 0 ? `there is no ${unbuilt.join(", ")}: npm run images && npm run release:pack` : undefined);

let shell: PageShell | undefined;
afterAll(async () => shell?.end());

/** Types a command, and returns its output. */
async function run(command: string, exit = 0): Promise<string> {
  const { status, output } = (await shell?.run(command)) ?? { status: -1, output: "" };
  if (status !== exit) expect.fail(`exit status ${status}: ${command}\n${output}`);
  return output;
}

/** Runs a block of the page as it is, and returns the output of each command. */
async function runBlock(containing: string): Promise<string> {
  const [block, ...others] = blocks.filter(({ commands }) => commands.some(({ text }) => text.includes(containing)));
  expect(others, `${containing} is in one block`).toEqual([]);
  left.delete(block?.line ?? 0);
  const outputs: string[] = [];
  for (const { text } of block?.commands ?? [])
    outputs.push(await run(text, text === block?.commands.at(-1)?.text ? block.markers.exit : 0));
  return outputs.join("");
}

/** Lines of blocks that have not been run. */
const left = new Set(blocks.map(({ line }) => line));

/** Starts a registry with TLS and a password, whose name only this network knows. */
async function startRegistry(): Promise<void> {
  await run("ip link set lo up");
  await run("mkdir ../registry && printf '127.0.0.1 localhost registry.example.com\\n' >../registry/hosts");
  await run("mount --bind ../registry/hosts /etc/hosts");
  await run(
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=registry.example.com -addext subjectAltName=DNS:registry.example.com -keyout ../registry/key.pem -out ../registry/cert.pem",
  );
  await run("export SSL_CERT_FILE=$PWD/../registry/cert.pem REGISTRY_PASSWORD=only-for-tests");
  await run("export REGISTRY_AUTH_FILE=$PWD/../registry/credentials.json");
  // The registry wants bcrypt, which perl's crypt has.
  await run(
    `perl -e 'print "mesh:", crypt($ENV{REGISTRY_PASSWORD}, "\\$2y\\$05\\$" . "a" x 22), "\\n"' >../registry/users`,
  );
  const configuration = {
    version: "0.1",
    storage: { filesystem: { rootdirectory: join(shell!.work, "../registry/data") } },
    http: {
      addr: "127.0.0.1:443",
      tls: {
        certificate: join(shell!.work, "../registry/cert.pem"),
        key: join(shell!.work, "../registry/key.pem"),
      },
    },
    auth: { htpasswd: { realm: "mesh", path: join(shell!.work, "../registry/users") } },
  };
  await writeFile(join(shell!.work, "../registry/config.yml"), JSON.stringify(configuration));
  // The registry takes variables of such names for its configuration.
  await shell!.run("env -u REGISTRY_AUTH_FILE -u REGISTRY_PASSWORD docker-registry serve ../registry/config.yml", true);
  await run("for i in $(seq 100); do (: </dev/tcp/127.0.0.1/443) 2>/dev/null && break; sleep 0.1; done");
}

/** Starts an API server and nodes, which have fetched the images of the registry. */
async function startCluster(): Promise<void> {
  const folder = join(shell!.work, "../nodes");
  await mkdir(folder);
  for (const image of ["pilot", "proxyv2"])
    await run(`skopeo copy docker://registry.example.com/mesh/${image}:0.1.0 oci:${folder}/${image}`);
  const layouts = { pilot: { layout: `${folder}/pilot` }, proxyv2: { layout: `${folder}/proxyv2` } };
  await writeFile(join(folder, "images.yaml"), JSON.stringify(layouts));
  await run(`export KUBECONFIG=${folder}/kubeconfig PATH=${helm!.replace(/\/[^/]*$/, "")}:$PATH`);
  await shell!.run(`istiod-cluster run --nodes --images ${folder}/images.yaml --kubeconfig $KUBECONFIG`, true);
  await run("for i in $(seq 300); do kubectl get nodes -o name 2>/dev/null | grep -q . && break; sleep 0.2; done");
  const values = /```yaml\n(# values\.yaml\n[^`]*)```/.exec(readFileSync(join(root, page), "utf8"))?.[1] ?? "";
  await writeFile(join(shell!.work, "carry/values.yaml"), values);
}

/** Counts packets of Pods for which there was no route. */
async function packetsWithoutRoute(): Promise<number> {
  const counts = await run(
    `for file in /proc/[0-9]*/net/netstat; do awk '/^IpExt: [0-9]/ { print $2 }' $file 2>/dev/null; done | sort -n | tail -n 1`,
  );
  return Number(counts);
}

const application = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: echo, namespace: shop }
spec:
  selector: { matchLabels: { app: echo } }
  template:
    metadata: { labels: { app: echo } }
    spec: { containers: [{ name: echo, image: registry.example.com/shop/echo:1 }] }
---
apiVersion: v1
kind: Service
metadata: { name: echo, namespace: shop }
spec: { selector: { app: echo }, ports: [{ name: http, port: 80, targetPort: 8080 }] }
---
apiVersion: batch/v1
kind: Job
metadata: { name: caller, namespace: shop }
spec:
  template:
    metadata: { labels: { app: caller }, annotations: { proxy.istio.io/config: "holdApplicationUntilProxyStarts: true" } }
    spec:
      restartPolicy: OnFailure
      containers:
        - { name: curl, image: registry.example.com/shop/curl:1, args: [-sS, --fail, http://echo/] }
`;

test(
  "the commands of the page install a mesh in a network without a route out",
  { timeout: 900_000 },
  async (context) => {
    context.skip(unavailable !== undefined, unavailable);
    shell = await PageShell.start(root, {
      prefix: ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"],
      longestCommandMs: 400_000,
    });
    await startRegistry();
    expect(await run("ip route show default")).toBe("");

    const written = (await runBlock("mkdir -p carry/images")).trim().split("\n").at(-1)?.split(" ")[0];
    expect((await runBlock("sha256sum --check")).split(" ")[0]).toBe(written);
    const provenance = await runBlock(".intoto.json");
    expect(provenance).toMatch(
      /^pilot [0-9a-f]{64}\n[0-9a-f]{40}(?:-dirty)?\nproxyv2 [0-9a-f]{64}\n[0-9a-f]{40}(?:-dirty)?\n$/,
    );
    await runBlock("skopeo login");
    expect(await runBlock("skopeo inspect")).toBe("");
    await run("cp images/pilot/index.json .. && sed -i 's/sha256:[0-9a-f]/sha256:g/' images/pilot/index.json");
    expect(await runBlock("skopeo inspect")).toBe("pilot differs\n");
    expect(await runBlock(".intoto.json")).toContain("pilot is not the image of the provenance\n");
    await run("mv ../index.json images/pilot/index.json");

    await startCluster();
    await runBlock("helm install istiod");
    await writeFile(join(shell.work, "application.yaml"), application);
    await run("kubectl apply -f ../application.yaml");
    await run("kubectl wait -n shop --for=condition=complete job/caller --timeout=300s");
    expect(await runBlock("istiod.js version")).toContain("0.1.0");

    expect((await runBlock("jsonpath")).trim().split("\n")).toEqual([
      "registry.example.com/mesh/pilot:0.1.0",
      "registry.example.com/mesh/proxyv2:0.1.0",
      "registry.example.com/shop/curl:1",
      "registry.example.com/shop/echo:1",
    ]);
    expect(await runBlock("istiod proxy-status")).toMatch(/~echo-\S+\.shop~/);
    expect(await packetsWithoutRoute()).toBe(0);

    const findings = await runBlock("RequestAuthentication");
    expect(findings).toContain("MESH0019");
    expect(await packetsWithoutRoute()).toBeGreaterThan(0);
    expect([...left], "lines of blocks that this test does not run").toEqual([]);
  },
);
