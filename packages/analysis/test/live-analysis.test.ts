import { type Finding, LiveAnalysis } from "@istiod/analysis";
import { applyChanges, type Change, readText, serviceKind } from "@istiod/config-ingestion";
import { Database } from "@istiod/incremental";
import { expect, test } from "vitest";

const service = (name: string, port: string): Change[] => {
  const text = `{apiVersion: v1, kind: Service, metadata: {name: ${name}, namespace: shop}, spec: {ports: [{name: ${port}, port: 80}]}}`;
  return readText(text, "a.yaml").flatMap(({ objects }) => objects);
};

test("reports what a commit changes, and recomputes only the objects that it concerns", async () => {
  const database = new Database<undefined>();
  const reports: string[][] = [];
  const named = (sign: string, findings: readonly Finding[]): string[] => findings.map(({ code, origin }) => `${sign}${code} ${origin.name}`);
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
  const commit = async (...changes: readonly Change[]): Promise<number> => {
    analysis.committed(database.commit((tx) => applyChanges(tx, changes)));
    const { recomputations } = database.stats();
    for (const turn of turns.splice(0)) turn();
    await Promise.resolve();
    await Promise.resolve();
    return database.stats().recomputations - recomputations;
  };

  await commit(...Array.from({ length: 50 }, (_, i) => service(`s${i}`, "http")).flat(), ...service("a", "web"));
  expect(reports).toEqual([]);
  await analysis.start();
  expect(reports.splice(0)).toEqual([["+IST0118 a"]]);

  // The object itself, the list of its kind, and the list of all.
  expect(await commit(...service("s7", "web"))).toBeLessThanOrEqual(3);
  expect(reports.splice(0)).toEqual([["+IST0118 s7"]]);
  await commit(...service("a", "http"));
  expect(reports.splice(0)).toEqual([["-IST0118 a"]]);
  await commit(...service("s8", "grpc"));
  expect(reports).toEqual([]);

  expect((await analysis.messages()).map(({ origin }) => origin)).toEqual(["Service shop/s7"]);
  analysis.stop();
});
