import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import type { ApiClient } from "@istiod/kubernetes";
import { clusterClient, wholeNumber } from "../cluster-client.js";
import { ObjectApplier } from "../sample/apply-objects.js";
import { installControlPlanes, type Revision } from "./control-planes.js";
import { Load } from "./load.js";
import { moveNamespace } from "./move.js";
import { HOST, installRelays, NAMESPACES, SERVICES } from "./relays.js";

const TIMEOUT_MS = 300_000;
/** Within which the first request must pass. */
const FIRST_ANSWER_MS = 120_000;

/**
 * Moves namespace after namespace from the original's control plane to this istiod and back, while requests pass all
 * of them, and prints a table. KUBECONFIG names the kubeconfig. Returns 1 if a request failed.
 */
export async function printMigration(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      charts: { type: "string" },
      requests: { type: "string", default: "100000" },
      rate: { type: "string", default: "100" },
    },
  });
  if (values.charts === undefined) throw new Error("migration: --charts is required: manifests/charts of istio/istio");
  const requests = wholeNumber("--requests", values.requests, 10_000_000);
  const rate = wholeNumber("--rate", values.rate, 10_000);
  const client = await clusterClient("migration");
  try {
    const applier = new ObjectApplier(client);
    process.stdout.write("installing both control planes\n");
    await installControlPlanes(client, applier, { charts: values.charts, timeoutMs: TIMEOUT_MS });
    process.stdout.write("installing the services\n");
    const address = await installRelays(client, applier, "original", TIMEOUT_MS);
    const onFailure = (reason: string): void =>
      void process.stdout.write(`${new Date().toISOString()} failed: ${reason}\n`);
    const load = new Load({ address, host: HOST, expected: `${SERVICES}\n`, rate, onFailure });
    await waitForAnswer(address);
    return await migrate(client, applier, load, requests);
  } finally {
    client.close();
  }
}

/** Moves all namespaces there and back, again and again, until enough requests are answered. */
async function migrate(client: ApiClient, applier: ObjectApplier, load: Load, requests: number): Promise<number> {
  const started = Date.now();
  const running = load.run();
  let moves = 0;
  process.stdout.write("| namespace | to | seconds | answered | failed |\n|---|---|--:|--:|--:|\n");
  try {
    for (let round = 0; load.answered + load.failed < requests; round++) {
      const revision: Revision = round % 2 === 0 ? "here" : "original";
      for (const namespace of inOrder(round)) {
        const before = Date.now();
        await moveNamespace(client, applier, namespace, revision, TIMEOUT_MS);
        moves++;
        const seconds = ((Date.now() - before) / 1000).toFixed(0);
        process.stdout.write(`| ${namespace} | ${revision} | ${seconds} | ${load.answered} | ${load.failed} |\n`);
      }
    }
  } finally {
    load.stop();
    await running;
  }
  const seconds = (Date.now() - started) / 1000;
  const [p50, p99] = [load.quantile(0.5), load.quantile(0.99)].map((ms) => ms.toFixed(0));
  process.stdout.write(
    `\n${load.answered} of ${load.answered + load.failed} requests were answered in ${seconds.toFixed(0)} s, ${moves} moves; ` +
      `p50 ${p50} ms, p99 ${p99} ms\n`,
  );
  return load.failed === 0 ? 0 : 1;
}

/** Returns the order of a round: clients first in one, servers first in the next, so that both mixtures are seen. */
function inOrder(round: number): readonly string[] {
  return round % 4 < 2 ? NAMESPACES : NAMESPACES.toReversed();
}

/** Sends single requests until one is answered. */
async function waitForAnswer(address: string): Promise<void> {
  const deadline = Date.now() + FIRST_ANSWER_MS;
  let last = "";
  for (;;) {
    const onFailure = (reason: string): void => void (last = reason);
    const probe = new Load({ address, host: HOST, expected: `${SERVICES}\n`, rate: 1, onFailure });
    const running = probe.run();
    probe.stop();
    await running;
    if (probe.answered > 0) return;
    if (Date.now() > deadline) throw new Error(`no request is answered: ${last}`);
    await sleep(1000);
  }
}
