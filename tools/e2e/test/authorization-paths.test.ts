import { connect } from "node:net";
import { check, type Check } from "@istiod/authorization";
import { claimSubnet, type Subnet, whyNoEnvoy } from "@istiod/e2e";
import { findEnvoy } from "@istiod/envoy-binary";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Callers, createCallers } from "./authorization/callers.js";
import { caseMesh, generatedFilters, podOf, ports } from "./authorization/case-mesh.js";
import { type PathDecision, pathNormalizations, pathTables } from "./authorization/path-table.js";
import { startPolicyEnvoy } from "./authorization/policy-envoy.js";

const reason = await whyNoEnvoy();
const host = "web.shop";

interface Row {
  readonly name: string;
  /** Index of the policy, which has a workload of its own. */
  readonly workload: number;
  readonly target: string;
  readonly decisions: readonly string[];
}

const rows: readonly Row[] = Object.entries(pathTables).flatMap(([policy, { rows: lines }], workload) =>
  lines
    .trim()
    .split("\n")
    .map((line) => {
      const [target = "", ...decisions] = line.split(/ +/);
      return { name: `${policy}: ${target}`, workload, target, decisions };
    }),
);

/** Sends the target as it is, which Node's client would not. Envoy may reset the connection after its answer. */
function statusOf(address: string, { workload, target }: Row): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(ports.http, address).setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      answer += chunk;
      const status = /^HTTP\/1\.1 (\d+) .*\r\n/.exec(answer)?.[1];
      if (status === undefined) return;
      resolve(status);
      socket.destroy();
    });
    socket.once("error", reject).once("close", () => reject(new Error(`${target}: no answer`)));
    socket.write(`GET ${target} HTTP/1.1\r\nhost: ${host}\r\nx-case: ${workload}\r\n\r\n`);
  });
}

const decisionOf = (status: string): string =>
  ({ 200: "allow", 403: "deny" } as Readonly<Record<string, PathDecision>>)[status] ?? status;

function evaluated({ decision }: Check): string {
  if (decision.outcome === "allow") return "allow";
  return decision.outcome === "deny" && decision.stage === "path" ? String(decision.status) : "deny";
}

describe("policies of paths", () => {
  let subnet: Subnet;
  let callers: Callers;
  beforeAll(async () => {
    if (reason === undefined) subnet = await claimSubnet();
    callers = await createCallers(["127.0.0.1"]);
  }, 60_000);
  afterAll(() => subnet?.release());

  const address = (n: number): string => subnet?.address(n) ?? `127.0.0.${n}`;
  const workloads = (): Parameters<typeof caseMesh>[0] =>
    Object.values(pathTables).map(({ policy: spec }, n) => ({
      address: address(n + 2),
      policies: [{ root: false, dryRun: false, spec }],
    }));

  describe.each(pathNormalizations.map((name, column) => [name, column] as const))("with %s", (name, column) => {
    const expected = (): Readonly<Record<string, string>> =>
      Object.fromEntries(rows.map((row) => [row.name, row.decisions[column] ?? "absent"]));

    it("are decided by istiod authz check as in the table", async () => {
      const database = caseMesh(workloads(), callers, name);
      const found: Record<string, string> = {};
      for (const row of rows) {
        const to = `${podOf(row.workload)}:${ports.http}`;
        const [answer] = await check(database, { from: "none", to, path: row.target, host });
        found[row.name] = evaluated(answer!);
      }
      expect(found).toEqual(expected());
    });

    describe("at a real Envoy", () => {
      beforeEach(({ skip }) => skip(reason !== undefined, reason));

      it("are decided as in the table", async () => {
        const database = caseMesh(workloads(), callers, name);
        const envoy = await startPolicyEnvoy({
          binary: (await findEnvoy())!,
          admin: address(1),
          server: callers.identities[0]!,
          callers,
          workloads: workloads().map((each, n) => ({
            address: each.address,
            filters: generatedFilters(database, n),
          })),
        });
        try {
          const found: Record<string, string> = {};
          for (const row of rows) found[row.name] = decisionOf(await statusOf(address(2), row));
          expect(found).toEqual(expected());
        } finally {
          await envoy.close();
        }
      }, 120_000);
    });
  });
});
