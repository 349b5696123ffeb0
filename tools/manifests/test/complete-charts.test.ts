import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { istioKinds } from "@istiod/config-schema";
import { expect, onTestFinished, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { completeCharts } from "../src/index.js";

test("the chart base gets the definitions of all kinds", async () => {
  const charts = await mkdtemp(join(tmpdir(), "istiod-manifests-"));
  onTestFinished(() => rm(charts, { recursive: true }));
  const paths = await completeCharts(charts);
  const file = join(charts, "base/files/crd-all.gen.yaml");
  expect(paths).toContain(file);
  expect((await readdir(charts, { recursive: true })).filter((name) => name.endsWith(".partial"))).toEqual([]);
  const documents = parseAllDocuments(await readFile(file, "utf8"));
  expect(documents.map((document) => document.getIn(["spec", "names", "kind"]))).toEqual(
    istioKinds.map(({ kind }) => kind).toSorted(),
  );
});

test("each chart gets the shared templates and profiles", async () => {
  const charts = await mkdtemp(join(tmpdir(), "istiod-manifests-"));
  onTestFinished(() => rm(charts, { recursive: true }));
  await completeCharts(charts);
  for (const chart of ["base", "istiod", "gateway"]) {
    expect(await readdir(join(charts, chart, "templates"))).toEqual(["_kinds.gen.tpl", "_shared.gen.tpl"]);
    expect(await readdir(join(charts, chart, "files"))).toEqual(
      expect.arrayContaining(["complete.gen.txt", "profile-ambient.gen.yaml", "profile-platform-openshift.gen.yaml"]),
    );
  }
});
