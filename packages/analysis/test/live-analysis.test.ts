import { type Finding, LiveAnalysis } from "@istiod/analysis";
import {
  applyChanges,
  type ObjectChange,
  defaultMeshConfig,
  gatewayKind,
  meshConfig,
  meshConfigKey,
  podKind,
  readText,
  secretKind,
  serviceKind,
} from "@istiod/config-schema";
import { FakeClock } from "@istiod/runtime/testing";
import { Database } from "@istiod/incremental";
import { expect, test } from "vitest";
import { certificate, privateKey } from "./key-pair.js";

const service = (name: string, port: string): ObjectChange[] => {
  const text = `{apiVersion: v1, kind: Service, metadata: {name: ${name}, namespace: shop}, spec: {ports: [{name: ${port}, port: 80}]}}`;
  return readText(text, "a.yaml").flatMap(({ objects }) => objects);
};

test("reports new and resolved findings after a commit, and reanalyzes only the affected objects", async () => {
  const database = new Database<undefined>();
  const reports: string[][] = [];
  const named = (sign: string, findings: readonly Finding[]): string[] =>
    findings.map(({ code, origin }) => `${sign}${code} ${origin.name}`);
  const turns: (() => void)[] = [];
  const analysis = new LiveAnalysis({
    database,
    client: undefined,
    kinds: [serviceKind],
    sources: [],
    problems: () => [],
    changed: (found, gone) => void reports.push([...named("+", found), ...named("-", gone)]),
    turn: () => new Promise<void>((resolve) => turns.push(resolve)),
  });
  const commit = async (...changes: readonly ObjectChange[]): Promise<number> => {
    database.commit((tx) => applyChanges(tx, changes));
    const { recomputations } = database.stats();
    for (const turn of turns.splice(0)) turn();
    await Promise.resolve();
    await Promise.resolve();
    return database.stats().recomputations - recomputations;
  };

  await commit(...Array.from({ length: 50 }, (_, i) => service(`s${i}`, "http")).flat(), ...service("a", "web"));
  expect(reports).toEqual([]);
  let started = false;
  void analysis.start().then(() => (started = true));
  while (!started) {
    for (const turn of turns.splice(0)) turn();
    await Promise.resolve();
  }
  expect(reports.splice(0)).toEqual([["+IST0118 a"]]);
  expect(await analysis.newFindings()).toEqual([]);

  // The object itself, the list of its kind, and the list of all.
  expect(await commit(...service("s7", "web"))).toBeLessThanOrEqual(3);
  expect(reports.splice(0)).toEqual([["+IST0118 s7"]]);
  expect(named("", await analysis.newFindings())).toEqual(["IST0118 s7"]);
  await commit(...service("a", "http"));
  expect(reports.splice(0)).toEqual([["-IST0118 a"]]);
  await commit(...service("b", "web"));
  expect(named("", await analysis.newFindings())).toEqual(["IST0118 b", "IST0118 s7"]);
  await commit(...service("b", "http"));
  expect(named("", await analysis.newFindings())).toEqual(["IST0118 s7"]);
  expect(reports.splice(0)).toEqual([["+IST0118 b"], ["-IST0118 b"]]);
  await commit(...service("s8", "grpc"));
  expect(reports).toEqual([]);

  expect((await analysis.messages()).map(({ origin }) => origin)).toEqual(["Service shop/s7"]);
  analysis.stop();
});

test("gives the event loop turns while it looks for the lines of many findings", async () => {
  const database = new Database<undefined>();
  database.commit((tx) => applyChanges(tx, ["a", "b", "c"].map((name) => service(name, "web")).flat()));
  let turns = 0;
  const analysis = new LiveAnalysis({
    database,
    client: undefined,
    kinds: [serviceKind],
    sources: [{ locate: locateSlowly }],
    problems: () => [],
    turn: async () => void turns++,
  });
  const findings = await analysis.findings();
  expect(findings).toHaveLength(3);
  turns = 0;
  await analysis.place(findings);
  expect(turns).toBe(2);
  analysis.stop();
});

/** Takes longer than a slice. */
function locateSlowly(): undefined {
  const until = performance.now() + 20;
  while (performance.now() < until);
}

test("reports an expired certificate within an hour of its expiry", async () => {
  const objects = [
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "gw", namespace: "edge", labels: { app: "gw" } },
      spec: { containers: [] },
    },
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "cert", namespace: "edge" },
      stringData: { cert: certificate, key: privateKey },
    },
    {
      apiVersion: "networking.istio.io/v1",
      kind: "Gateway",
      metadata: { name: "gw", namespace: "edge" },
      spec: {
        selector: { app: "gw" },
        servers: [
          {
            hosts: ["*"],
            port: { number: 443, name: "https", protocol: "HTTPS" },
            tls: { mode: "SIMPLE", credentialName: "cert" },
          },
        ],
      },
    },
  ];
  const database = new Database<undefined>();
  database.commit((tx) => {
    tx.set(meshConfig, meshConfigKey, defaultMeshConfig());
    for (const object of objects)
      applyChanges(
        tx,
        readText(JSON.stringify(object), "a.yaml").flatMap((reading) => reading.objects),
      );
  });
  const clock = new FakeClock(0);
  const start = Date.UTC(2026, 11, 22, 16, 30);
  const reports: string[][] = [];
  const analysis = new LiveAnalysis({
    database,
    client: undefined,
    kinds: [gatewayKind, podKind, secretKind],
    sources: [],
    problems: () => [],
    changed: (found) => void reports.push(found.map(({ code }) => code)),
    turn: () => Promise.resolve(),
    time: () => start + clock.now(),
    clock,
  });
  const passed = async (minutes: number): Promise<string[][]> => {
    clock.advance(minutes * 60_000);
    for (let i = 0; i < 4; i++) await Promise.resolve();
    return reports.splice(0);
  };
  await analysis.start();
  expect(reports.splice(0)).toEqual([["IST0162"]]);
  expect(await passed(60)).toEqual([]);
  expect(await passed(29)).toEqual([]);
  expect(await passed(2)).toEqual([["IST0161"]]);
  analysis.stop();
  expect(await passed(60 * 24)).toEqual([]);
});

test("returns complete, current findings during the first analysis and right after a commit", async () => {
  const database = new Database<undefined>();
  database.commit((tx) => applyChanges(tx, service("a", "web")));
  const turns: (() => void)[] = [];
  let started = false;
  const turn = (): Promise<void> => (started ? new Promise<void>((resolve) => turns.push(resolve)) : Promise.resolve());
  const analysis = new LiveAnalysis({
    database,
    client: undefined,
    kinds: [serviceKind],
    sources: [],
    problems: () => [],
    turn,
  });
  const named = async (): Promise<string[]> =>
    (await analysis.findings()).map(({ code, origin }) => `${code} ${origin.name}`);
  expect(await named()).toEqual(["IST0118 a"]);
  started = true;
  database.commit((tx) => applyChanges(tx, service("b", "web")));
  expect(turns).toHaveLength(1);
  expect(await named()).toEqual(["IST0118 a", "IST0118 b"]);
  analysis.stop();
  turns.forEach((next) => next());
  expect(await named()).toEqual(["IST0118 a", "IST0118 b"]);
});
