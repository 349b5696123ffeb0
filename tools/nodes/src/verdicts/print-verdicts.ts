import { parseArgs } from "node:util";
import type { ApiClient } from "@istiod/kubernetes";
import { clusterClient } from "../cluster-client.js";
import { deniedObjects, ineffectiveObjects } from "./bad-objects.js";
import { NAMESPACE, type VerdictCase } from "./case.js";
import { extensionObjects } from "./extension-objects.js";
import { gatewayApiObjects } from "./gateway-api-objects.js";
import { goodObjects } from "./good-objects.js";
import { waitForDeployment } from "../sample/install-bookinfo.js";
import { VerdictRun, type VerdictRow } from "./run-verdicts.js";

/** All cases, good and bad in turn. */
const cases: readonly VerdictCase[] = interleaved(
  [...goodObjects, ...gatewayApiObjects, ...extensionObjects],
  [...ineffectiveObjects, ...deniedObjects],
);

/**
 * Applies objects of each kind to Bookinfo, asks `istiod status --wait` for each, kills a replica in between, and
 * prints a table. KUBECONFIG names the kubeconfig. Returns 1 if a verdict is wrong.
 */
export async function printVerdicts(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { only: { type: "string", default: "" } } });
  const client = await clusterClient("verdicts");
  try {
    await waitForBookinfo(client);
    const run = new VerdictRun(client);
    const named = cases.filter(({ name, object: { kind } }) => `${kind} ${name}`.includes(values.only));
    const selected = await run.servedOf(named);
    const rows: VerdictRow[] = [];
    const add = (added: readonly VerdictRow[]): void => {
      rows.push(...added);
      process.stdout.write(added.map(formatRow).join(""));
    };
    process.stdout.write("| object | kind | expected | said | seconds |\n|---|---|---|---|---|\n");
    for (const [index, item] of selected.entries()) {
      add([await run.ask(item)]);
      if (index === Math.floor(selected.length / 2) && goodObjects[0] !== undefined)
        add(await run.askAfterKill(goodObjects[0]));
    }
    const right = rows.filter(({ isRight }) => isRight).length;
    process.stdout.write(`\n${right} of ${rows.length} verdicts are right\n`);
    const left = new Set(named.filter((item) => !selected.includes(item)).map(({ object: { kind } }) => kind));
    if (left.size > 0)
      process.stdout.write(`not asked, because the API server does not serve them: ${[...left].join(", ")}\n`);
    return right === rows.length ? 0 : 1;
  } finally {
    client.close();
  }
}

/** @throws Error if there is no Bookinfo, or it does not become ready */
async function waitForBookinfo(client: ApiClient): Promise<void> {
  const path = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`;
  const { items } = await client.json<{ items: readonly { readonly metadata: { readonly name: string } }[] }>({ path });
  if (items.length === 0)
    throw new Error("verdicts: the cluster has no Bookinfo, which `npm run cluster -- --sample bookinfo` installs");
  for (const { metadata } of items) await waitForDeployment(client, NAMESPACE, metadata.name);
}

function formatRow({ name, kind, expected, seen, isRight, seconds, text }: VerdictRow): string {
  const row = `| ${name} | ${kind} | ${expected} | ${isRight ? seen : `${seen}, WRONG`} | ${seconds.toFixed(1)} |\n`;
  return isRight ? row : `${row}\n${text}\n`;
}

function interleaved<T>(a: readonly T[], b: readonly T[]): readonly T[] {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, index) => [a[index], b[index]])
    .flat()
    .filter((item) => item !== undefined);
}
