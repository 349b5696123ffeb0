import { writeNow } from "@istiod/analysis";
import { commitYaml } from "@istiod/config-schema/testing";
import { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { prometheusMeter } from "@istiod/prometheus";
import { reporting } from "@istiod/mesh-log";

const service = (port: number): string =>
  `{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop}, spec: {ports: [{port: ${port}}]}}`;

test("reports every commit after the first full state, except those of the analysis's clock", async () => {
  const database = new Database<Proxy>();
  const registry = new Registry();
  const report = reporting({
    meter: prometheusMeter(registry),
    database,
    log: pino({ level: "silent" }),
  });
  const timed = async (): Promise<string | undefined> =>
    /^pilot_debounce_time_count (\d+)$/m.exec(await registry.metrics())?.[1];
  const reported = (): number[] => report.changes.reports().map(({ revision }) => revision);
  commitYaml(database, service(80));
  report.started();
  expect(reported()).toEqual([]);
  commitYaml(database, service(81));
  database.commit((tx) => writeNow(tx, 0));
  commitYaml(database, service(82));
  expect(reported()).toEqual([4, 2]);
  expect(await timed()).toBe("0");
  report.commitTiming({ revision: 4, debounceMs: 100, commitMs: 1, readMs: 1 });
  expect(await timed()).toBe("1");
  report.stop();
  commitYaml(database, service(83));
  expect(reported()).toEqual([4, 2]);
});
