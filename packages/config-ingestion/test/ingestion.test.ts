import { Database } from "@istiod/incremental";
import { Ingestion, formatProblem, services, type Source } from "@istiod/config-ingestion";
import { FakeClock, MemorySource } from "@istiod/config-ingestion/testing";
import { expect, test } from "vitest";

const service = (name: string, port: number): string =>
  `{apiVersion: v1, kind: Service, metadata: {name: ${name}}, spec: {ports: [{port: ${port}}]}}\n`;

async function start(...sources: Source[]) {
  const clock = new FakeClock();
  const database = new Database<unknown>();
  const commits: string[][] = [];
  const told: string[] = [];
  const ingestion = new Ingestion(database, sources, {
    clock,
    quiet: 100,
    max: 1000,
    onCommit: ({ changed }) => void commits.push(changed.map((c) => c.key).sort()),
    onProblems: (found) => void told.push(...found.map(formatProblem)),
  });
  await ingestion.ready;
  return { clock, database, commits, told, ingestion };
}

test("changes of several sources within the quiet time are one commit", async () => {
  const [one, two] = [new MemorySource(), new MemorySource({ cluster: "remote" })];
  one.set("a", service("a", 1));
  two.set("b", service("b", 1));
  const { clock, commits, ingestion, database } = await start(one, two);
  expect(commits).toEqual([["Kubernetes/default/a", "remote/default/b"]]);
  one.set("a", service("a", 2));
  clock.advance(99);
  two.set("b", service("b", 2));
  clock.advance(99);
  await ingestion.idle();
  expect(commits).toHaveLength(1);
  clock.advance(1);
  await ingestion.idle();
  expect(commits[1]).toEqual(["Kubernetes/default/a", "remote/default/b"]);
  expect(database.read(services, "remote/default/b")?.spec.ports[0]?.port).toBe(2);
});

test("changes that never stop are committed after the longest wait", async () => {
  const source = new MemorySource();
  const { clock, commits, ingestion } = await start(source);
  for (let i = 1; i <= 30; i++) {
    source.set("a", service("a", i));
    clock.advance(50);
    await ingestion.idle();
  }
  expect(commits).toHaveLength(1);
});

test("what ends as it began is no commit", async () => {
  const source = new MemorySource();
  source.set("a", service("a", 1));
  const { clock, commits, ingestion } = await start(source);
  source.set("a", service("a", 2));
  source.set("a", `# the same\n${service("a", 1)}`);
  clock.advance(100);
  await ingestion.idle();
  expect(commits).toHaveLength(1);
});

test("an object moves to another file without a change", async () => {
  const source = new MemorySource();
  source.set("a", service("a", 1));
  const { clock, commits, ingestion, told } = await start(source);
  source.set("b", service("a", 1));
  source.remove("a");
  clock.advance(100);
  await ingestion.idle();
  expect(commits).toHaveLength(1);
  expect(told).toEqual([]);
});

test("after it is stopped nothing changes", async () => {
  const source = new MemorySource();
  const { clock, commits, ingestion } = await start(source);
  source.set("a", service("a", 1));
  await ingestion.stop();
  source.set("a", service("a", 2));
  clock.advance(1000);
  await ingestion.idle();
  expect(commits).toEqual([]);
});
