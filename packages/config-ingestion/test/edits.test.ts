import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Database, query } from "@istiod/incremental";
import { DirectorySource, Ingestion, loadDirectory } from "@istiod/config-ingestion";
import { MemorySource } from "@istiod/config-ingestion/testing";
import { allKinds, applyChanges } from "@istiod/config-schema";
import { type Clock } from "@istiod/runtime";
import { FakeClock } from "@istiod/runtime/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

describe("any sequence of edits ends in the state of a fresh reading", () => {
  const names = ["a", "b", "c"];
  const entry = fc
    .record({
      name: fc.constantFrom(...names),
      host: fc.constantFrom("x.example.com", "y.example.com"),
      bad: fc.boolean(),
    })
    .map(({ name, host, bad }) => ({
      bad,
      text: `{apiVersion: networking.istio.io/v1, kind: ServiceEntry, metadata: {name: ${name}, namespace: ns}, spec: {hosts: [${bad ? "'*'" : host}], ports: [{number: 80, name: http, protocol: HTTP}]}}\n`,
    }));
  const service = fc
    .record({ name: fc.constantFrom(...names), port: fc.integer({ min: 1, max: 3 }) })
    .map(({ name, port }) => ({
      bad: false,
      text: `{apiVersion: v1, kind: Service, metadata: {name: ${name}}, spec: {ports: [{port: ${port}}]}}\n`,
    }));
  const garbage = fc.constant({ bad: true, text: "{apiVersion: v1, kind: [}\n" });
  const documents = fc.array(
    fc.oneof({ weight: 4, arbitrary: entry }, { weight: 4, arbitrary: service }, { weight: 1, arbitrary: garbage }),
    { maxLength: 4 },
  );
  const edit = fc.record({
    file: fc.constantFrom("one.yaml", "two.yaml", "d/three.yml"),
    documents: fc.option(documents, { freq: 4 }),
  });
  const good = (list: readonly { bad: boolean; text: string }[]): string =>
    list
      .filter((d) => !d.bad)
      .map((d) => d.text)
      .join("---\n");

  const everything = query("everything", (q) =>
    allKinds.flatMap((k) => q.keys(k.collection).map((key) => [k.kind, key, q.read(k.collection, key)])),
  );
  const contents = (database: Database<unknown>): unknown => {
    const view = database.view(undefined);
    const result = view.call(everything);
    view.release();
    return result;
  };

  test("in memory", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(edit, { maxLength: 12 }),
        fc.array(fc.nat(3), { minLength: 12, maxLength: 12 }),
        async (edits, pauses) => {
          const clock = new FakeClock();
          const database = new Database<unknown>();
          const source = new MemorySource();
          const ingestion = new Ingestion(database, [source], { clock });
          await ingestion.ready;
          const files = new Map<string, string>();
          for (const [i, { file, documents: list }] of edits.entries()) {
            if (list === null) {
              source.remove(file);
              files.delete(file);
            } else {
              source.set(file, list.map((d) => d.text).join("---\n"));
              files.set(file, good(list));
            }
            if (pauses[i] === 0) {
              clock.advance(200);
              await ingestion.idle();
            }
          }
          for (const [file, text] of files) source.set(file, text);
          clock.advance(200);
          await ingestion.idle();
          const fresh = new Database<unknown>();
          const freshSource = new MemorySource();
          for (const [file, text] of files) freshSource.set(file, text);
          await new Ingestion(fresh, [freshSource]).ready;
          expect(contents(database)).toEqual(contents(fresh));
        },
      ),
      { numRuns: 200 },
    );
  });

  test("on disk", { timeout: 60_000 }, async () => {
    const quick: Clock = {
      now: () => performance.now() * 20,
      after(delay, callback) {
        const timer = setTimeout(callback, delay / 20);
        return () => clearTimeout(timer);
      },
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(edit, fc.constantFrom("write", "rename", "directory")), { minLength: 1, maxLength: 8 }),
        async (edits) => {
          const directory = await mkdtemp(join(tmpdir(), "istiod-edits-"));
          const database = new Database<unknown>();
          const ingestion = new Ingestion(database, [new DirectorySource({ directory, clock: quick })], {
            clock: quick,
          });
          try {
            await ingestion.ready;
            const files = new Map<string, string>();
            for (const [{ file, documents: list }, how] of edits) {
              const path = join(directory, file);
              if (list === null) {
                await rm(how === "directory" ? (dirname(path) === directory ? path : dirname(path)) : path, {
                  recursive: true,
                  force: true,
                });
                files.delete(file);
                continue;
              }
              const text = list.map((d) => d.text).join("---\n");
              await mkdir(dirname(path), { recursive: true });
              if (how === "rename") {
                await writeFile(join(directory, ".new"), text);
                await rename(join(directory, ".new"), path);
              } else await writeFile(path, text);
              files.set(file, good(list));
            }
            for (const [file, text] of files) await writeFile(join(directory, file), `${text}# end\n`);
            const fresh = new Database<unknown>();
            const loaded = await loadDirectory(directory);
            fresh.commit((tx) => applyChanges(tx, loaded.changes));
            const expected = contents(fresh);
            await expect.poll(() => contents(database), { timeout: 5000, interval: 5 }).toEqual(expected);
          } finally {
            await ingestion.stop();
            await rm(directory, { recursive: true });
          }
        },
      ),
      { numRuns: 15 },
    );
  });
});
