import { decode } from "@istiod/config-schema";
import { findEnvoy } from "@istiod/envoy-binary";
import { whyNoEnvoy } from "@istiod/e2e";
import type { Proxy } from "@istiod/push-context";
import { clusterType } from "@istiod/resources";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Acceptance } from "./hostile-objects/acceptance.js";
import { type FieldRow, type FieldTable, partWith, type Position } from "./hostile-objects/fields/field-table.js";
import { fieldTables } from "./hostile-objects/fields/tables.js";
import type { Manifest } from "./hostile-objects/kinds/manifest.js";
import { ChangingMesh, proxiesOf, resourcesFor } from "./hostile-objects/mesh.js";

const reason = await whyNoEnvoy();
const onlyPart = new RegExp(process.env["HOSTILE_FIELDS"] ?? "");
const chosen = fieldTables.filter(({ part }) => onlyPart.test(part));

/** An object with one value of the table. */
interface Sample {
  readonly title: string;
  readonly row: FieldRow;
  readonly position: Position;
  readonly objects: readonly Manifest[];
  readonly verdict: "accepted" | "refused" | "refusedByApi";
}

function samplesOf(table: FieldTable, positions = Object.entries(table.positions)): readonly Sample[] {
  return positions.flatMap(([where, position]) =>
    table.rows.flatMap((row) =>
      (["accepted", "refused", "refusedByApi"] as const).flatMap((verdict) =>
        (row[verdict] ?? []).map((value): Sample => ({
          title: `${row.field} = ${brief(value)} (${where})`,
          row,
          position,
          objects: position.objects(partWith(row.field, value, row.beside)),
          verdict,
        })),
      ),
    ),
  );
}

function brief(value: unknown): string {
  return (JSON.stringify(value) ?? "undefined").replaceAll(/(.)\1{30,}/g, "$1…").slice(0, 80);
}

/** Returns the errors of the first object as `path: message`, without `spec`. */
function errorsOf({ objects }: Sample): readonly string[] {
  return decode(objects[0]).flatMap(({ issues }) =>
    issues
      .filter(({ severity }) => severity === "error")
      .map(({ path, message }) => `${path.slice(1).join(".")}: ${message.slice(0, 200)}`),
  );
}

describe.each(chosen)("values at the bounds of $part", (table) => {
  const samples = samplesOf(table);

  it("are accepted where Envoy and Istio's API take them", () => {
    const faults = samples
      .filter(({ verdict }) => verdict === "accepted")
      .flatMap((sample) => {
        const [error] = errorsOf(sample);
        return error === undefined ? [] : [`${sample.title}: ${error}`];
      });
    expect(faults.join("\n")).toBe("");
  });

  it("are refused elsewhere, at their own field, in every position", () => {
    const faults = samples
      .filter(({ verdict }) => verdict !== "accepted")
      .flatMap((sample) => {
        const path = [sample.position.path, sample.row.faultAt ?? sample.row.field].filter(Boolean).join(".");
        const errors = errorsOf(sample);
        return errors.some((error) => error.startsWith(path)) ? [] : [`${sample.title}: ${errors[0] ?? "accepted"}`];
      });
    expect(faults.join("\n")).toBe("");
  });
});

describe("a real Envoy", { retry: 0 }, () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  const mesh = new ChangingMesh();
  let acceptance: Acceptance;
  let proxies: readonly Proxy[];
  beforeAll(async () => {
    if (reason !== undefined) return;
    acceptance = await Acceptance.start((await findEnvoy())!);
    proxies = proxiesOf(acceptance.extensions);
    offer([], -1);
    for (const proxy of proxies) acceptance.keep(resourcesFor(mesh.database, proxy).get(clusterType) ?? []);
    expect(await acceptance.rejections()).toEqual([]);
  }, 120_000);
  afterAll(() => acceptance?.close());

  /** Adds the resources of proxies for objects, whether or not they are valid. */
  const offer = (objects: readonly Manifest[], origin: number): void => {
    mesh.replace(objects, { acceptInvalid: true });
    for (const proxy of proxies)
      for (const [typeUrl, resources] of resourcesFor(mesh.database, proxy))
        for (const resource of resources) acceptance.add(typeUrl, resource, origin);
  };

  it.each(chosen)(
    "takes the accepted values of $part",
    async (table) => {
      const samples = samplesOf(table).filter(({ verdict }) => verdict === "accepted");
      for (const [origin, { objects }] of samples.entries()) offer(objects, origin);
      const rejected = await acceptance.rejections();
      expect(rejected.map(({ origin, message }) => `${samples[origin]?.title}: ${message.slice(-300)}`)).toEqual([]);
    },
    300_000,
  );

  it.each(chosen)(
    "rejects the refused values of $part",
    async (table) => {
      const taken: string[] = [];
      const [first] = Object.entries(table.positions);
      for (const { title, objects, verdict } of samplesOf(table, first && [first])) {
        if (verdict !== "refused") continue;
        offer(objects, 0);
        if ((await acceptance.rejections()).length === 0) taken.push(title);
      }
      expect(taken.join("\n")).toBe("");
    },
    600_000,
  );
});
