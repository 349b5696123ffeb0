import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  create,
  equals,
  fromBinary,
  toBinary,
  toJson,
  type DescField,
  type DescMessage,
  type Message,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { Database, query } from "@istiod/incremental";
import {
  allKinds,
  DirectorySource,
  Ingestion,
  istioKinds,
  loadDirectory,
  applyChanges,
  readText,
  type Clock,
} from "@istiod/config-ingestion";
import { FakeClock, MemorySource } from "@istiod/config-ingestion/testing";
import { registry } from "@istiod/istio-api/registry";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { decodeMessage } from "../src/documents/decode-message.js";
import type { Report } from "../src/documents/report.js";

describe("reading never throws", () => {
  const sample =
    "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: a, namespace: b, labels: {x: y}}\nspec:\n  hosts: [a.b]\n  http:\n  - match: [{uri: {prefix: /x}}]\n    route: [{destination: {host: a.b, port: {number: 80}}, weight: 3}]\n    timeout: 5s\n---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80, name: http}], selector: {a: b}}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {tls.crt: YQ==}\n";

  test("of any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => void readText(text, "f")),
      { numRuns: 500 },
    );
  });

  test("of documents cut, spliced and sprinkled with other characters", () => {
    const edit = fc.tuple(
      fc.nat(sample.length),
      fc.nat(12),
      fc.oneof(
        fc.string({ maxLength: 6 }),
        fc.constantFrom(
          "null",
          "[]",
          "{}",
          "\n",
          "  ",
          ": ",
          "- ",
          "1",
          "-1",
          "1e99",
          "''",
          "*a",
          "&a ",
          "!!binary ",
          "? ",
          "---\n",
          "<<: ",
        ),
      ),
    );
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
        let text = sample;
        for (const [at, length, insert] of edits) text = text.slice(0, at) + insert + text.slice(at + length);
        void readText(text, "f");
      }),
      { numRuns: 600 },
    );
  });

  test("of objects of every kind with any values", () => {
    const json = fc.jsonValue({ maxDepth: 4 });
    const document = fc.record({
      kind: fc.constantFrom(...allKinds),
      metadata: fc.oneof(fc.constant({ name: "a", namespace: "b" }), json),
      body: fc.oneof(
        json,
        fc.dictionary(
          fc.constantFrom("spec", "status", "data", "stringData", "type", "endpoints", "ports", "addressType"),
          fc.oneof(
            json,
            fc.dictionary(
              fc.constantFrom(
                "ports",
                "hosts",
                "http",
                "tls",
                "selector",
                "containers",
                "addresses",
                "rules",
                "servers",
                "host",
                "subsets",
                "egress",
                "jwtRules",
              ),
              json,
            ),
          ),
        ),
      ),
    });
    fc.assert(
      fc.property(document, ({ kind, metadata, body }) => {
        const object = {
          ...(typeof body === "object" && body),
          apiVersion: `${kind.group === "" ? "" : `${kind.group}/`}${kind.versions[0]}`,
          kind: kind.kind,
          metadata,
        };
        void readText(JSON.stringify(object), "f");
      }),
      { numRuns: 1000 },
    );
  });
});

describe("decoding what was encoded", () => {
  const schemas = istioKinds.map(({ kind, group }) => {
    const name = {
      "networking.istio.io": "istio.networking.v1alpha3",
      "security.istio.io": "istio.security.v1beta1",
      "telemetry.istio.io": "istio.telemetry.v1alpha1",
      "extensions.istio.io": "istio.extensions.v1alpha1",
    }[group];
    const schema = registry.getMessage(
      kind === "ProxyConfig" ? "istio.networking.v1beta1.ProxyConfig" : `${name ?? ""}.${kind}`,
    );
    if (schema === undefined) throw new Error(kind);
    return { kind, schema };
  });

  test.each(schemas)("$kind gives the same message", ({ schema }) => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const message = randomMessage(schema, numbers(seed), 4);
        const reports: string[] = [];
        const report: Report = {
          error: (path, text) => void reports.push(`${path.join(".")}: ${text}`),
          warning: () => undefined,
        };
        const yaml = stringify({ spec: toJson(schema, message) }, { version: "1.1" });
        const parsed = readBack(yaml);
        const decoded = decodeMessage(schema, parsed, ["spec"], report);
        expect(reports).toEqual([]);
        expect(decoded !== undefined && equals(schema, decoded, fromBinary(schema, toBinary(schema, message)))).toBe(
          true,
        );
      }),
      { numRuns: 30 },
    );
  });
});

describe("following any sequence of edits ends where a fresh reading does", () => {
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

function readBack(yaml: string): unknown {
  let found: unknown;
  const probe = {
    ...allKinds[0],
    kind: "Probe",
    group: "",
    versions: ["v1"],
    scope: "cluster" as const,
    key: () => "probe",
    decode: (manifest: { body: Record<string, unknown> }) => ((found = manifest.body["spec"]), undefined),
  };
  readText(`apiVersion: v1\nkind: Probe\nmetadata: {name: x}\n${yaml}`, "f", {
    kinds: [probe as unknown as (typeof allKinds)[number]],
  });
  return found;
}

/** Numbers from 0 to 1 that a seed determines (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A message with some of its fields set. */
function randomMessage(schema: DescMessage, random: () => number, depth: number): Message {
  const message = create(schema);
  switch (schema.typeName) {
    case "google.protobuf.Duration":
      return Object.assign(message, {
        seconds: BigInt(Math.floor(random() * 1000)),
        nanos: Math.floor(random() * 1000) * 1_000_000,
      });
    case "google.protobuf.Timestamp":
      return Object.assign(message, { seconds: BigInt(Math.floor(random() * 1e9)) });
    case "google.protobuf.Struct":
    case "google.protobuf.Value":
    case "google.protobuf.Any":
      return message;
    default:
  }
  const target = reflect(schema, message, false);
  for (const field of schema.fields) {
    if (
      random() < 0.5 ||
      (field.message?.typeName.startsWith("google.protobuf.") === true &&
        ["Struct", "Value", "Any"].some((n) => field.message?.typeName.endsWith(n)))
    )
      continue;
    const value = (): unknown => randomValue(field, random, depth);
    if (depth === 0 && field.message !== undefined) continue;
    if (field.fieldKind === "list")
      for (let n = Math.floor(random() * 3); n > 0; n--) target.get(field).add(value() as never);
    else if (field.fieldKind === "map")
      target
        .get(field)
        .set(
          (field.mapKey === 9 ? `k${Math.floor(random() * 9)}` : Math.floor(random() * 99)) as never,
          value() as never,
        );
    else target.set(field, value() as never);
  }
  return message;
}

function randomValue(field: DescField, random: () => number, depth: number): unknown {
  if (field.message !== undefined)
    return reflect(field.message, randomMessage(field.message, random, depth - 1), false);
  if (field.enum !== undefined) return field.enum.values[Math.floor(random() * field.enum.values.length)]?.number;
  switch (field.scalar) {
    case 9:
      return ["", "a", "yes", "1", "x y", "é", "a: b", "*"][Math.floor(random() * 8)];
    case 8:
      return random() < 0.5;
    case 12:
      return new Uint8Array([Math.floor(random() * 256)]);
    case 1:
    case 2:
      return Math.fround(random() * 100);
    case 3:
    case 4:
    case 6:
    case 16:
    case 18:
      return BigInt(Math.floor(random() * 1e6));
    default:
      return Math.floor(random() * 1e6);
  }
}
