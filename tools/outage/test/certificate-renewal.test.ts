import { X509Certificate } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clusterUnavailable } from "@istiod/cluster";
import { type Log, readOptions, silentLog, startAgent } from "@istiod/pilot-agent";
import { createGateway } from "../src/cluster/gateway.js";
import { startInMemoryCluster } from "../src/cluster/in-memory-cluster.js";
import { startRealCluster } from "../src/cluster/real-cluster.js";
import type { TestCluster } from "../src/cluster/test-cluster.js";
import { SupervisedIstiod } from "../src/supervised-istiod.js";
import { expect, onTestFinished, test } from "vitest";

const noCluster = await clusterUnavailable();
const always = 1_000_000_000;
const pathPrefix = "/apis/authentication.k8s.io/v1/tokenreviews";

interface Outage {
  begin(cluster: TestCluster): Promise<unknown>;
  end(cluster: TestCluster): Promise<unknown>;
}

const gone: Outage = {
  begin: ({ relay }) => relay.cut(),
  end: ({ relay }) => relay.open(),
};
const failing: Outage = {
  begin: ({ faults }) => faults.failRequests({ status: 503, method: "POST", pathPrefix, times: always }),
  end: ({ faults }) => faults.clear(),
};
const hanging: Outage = {
  begin: async ({ relay }) => relay.stall("all"),
  end: async ({ relay }) => relay.resume(),
};

/** Starts an agent without Envoy that renews its certificate every second or two, and writes it to files. */
async function runAgent(cluster: TestCluster, istiod: SupervisedIstiod) {
  const { namespace, serviceAccount, token } = await createGateway(cluster);
  const directory = await mkdtemp(join(tmpdir(), "renewal-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const secrets = join(directory, "var/run/secrets");
  for (const [folder, file, text] of [
    ["istio", "root-cert.pem", await cluster.objects.rootCertificate()],
    ["tokens", "istio-token", token],
  ] as const) {
    await mkdir(join(secrets, folder), { recursive: true });
    await writeFile(join(secrets, folder, file), text);
  }
  const output = join(directory, "certificates");
  const env = {
    POD_NAME: "gateway",
    POD_NAMESPACE: namespace,
    SERVICE_ACCOUNT: serviceAccount,
    INSTANCE_IP: "10.201.0.1",
    AGENT_BIND_ADDRESS: "127.0.0.1",
    DISABLE_ENVOY: "true",
    ISTIOD_SAN: "istiod.istio-system.svc",
    ECC_SIGNATURE_ALGORITHM: "ECDSA",
    SECRET_TTL: "100s",
    SECRET_GRACE_PERIOD_RATIO: "0.99",
    SECRET_GRACE_PERIOD_RATIO_JITTER: "0",
    OUTPUT_CERTS: output,
    PROXY_CONFIG: JSON.stringify({ discoveryAddress: `127.0.0.1:${istiod.secureXds.port}`, statusPort: 0 }),
  };
  const failures: string[] = [];
  const warn = (_: unknown, message = ""): void => void failures.push(message);
  const log = Object.assign(Object.create(silentLog), { warn }) as Log;
  const agent = await startAgent({ type: "router", options: readOptions({ directory }, env), env, log });
  onTestFinished(() => agent.terminate());
  const certificate = async (): Promise<string> => readFile(join(output, "cert-chain.pem"), "utf8").catch(() => "");
  return { certificate, failures: () => failures.filter((line) => line.startsWith("failed to get certificate")) };
}

const inMemory = { start: startInMemoryCluster, unavailable: undefined };
const real = { start: startRealCluster, unavailable: noCluster };

test.for([
  ["in memory: while the API server is gone", gone, inMemory],
  ["in memory: while token reviews fail", failing, inMemory],
  ["in memory: while the API server hangs", hanging, inMemory],
  ["real: while the API server is gone", gone, real],
  ["real: while token reviews fail", failing, real],
] as const)(
  "%s, an agent keeps its certificate and retries; afterwards it gets new ones",
  { timeout: 300_000 },
  async ([, outage, { start, unavailable }], context) => {
    context.skip(unavailable !== undefined, unavailable);
    const cluster = await start();
    onTestFinished(() => cluster.stop());
    await cluster.objects.prepare();
    await cluster.objects.write([{ apiVersion: "v1", kind: "Namespace", metadata: { name: "istio-system" } }]);
    const istiod = await SupervisedIstiod.start(cluster.kubeconfig);
    onTestFinished(() => istiod.stop());
    const agent = await runAgent(cluster, istiod);
    const until = { timeout: 120_000, interval: 50 };
    const renewed = async (before: string): Promise<string> => {
      await expect.poll(agent.certificate, until).not.toBe(before);
      return agent.certificate();
    };
    await renewed(await renewed(""));
    expect(agent.failures()).toEqual([]);

    await outage.begin(cluster);
    // Until istiod asks for the token again, further certificates are issued.
    await expect.poll(() => agent.failures().length, until).toBeGreaterThan(0);
    const kept = await agent.certificate();
    const failed = agent.failures().length;
    await expect.poll(() => agent.failures().length, until).toBeGreaterThan(failed + 1);
    expect(await agent.certificate()).toBe(kept);
    const { subjectAltName, validTo } = new X509Certificate(kept);
    expect(subjectAltName).toBe("URI:spiffe://cluster.local/ns/edge/sa/gateway");
    expect(Date.parse(validTo)).toBeGreaterThan(Date.now());

    await outage.end(cluster);
    await renewed(await renewed(kept));
  },
);
