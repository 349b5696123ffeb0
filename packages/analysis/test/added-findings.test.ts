import { type Finding, LiveAnalysis } from "@istiod/analysis";
import { allKinds, applyChanges, defaultMeshConfig, meshConfig, meshConfigKey, readText } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { expect, onTestFinished, test } from "vitest";

const changesOf = (text: string) => readText(text, "a.yaml").flatMap(({ objects }) => objects);

const service = (name: string): string =>
  `{apiVersion: v1, kind: Service, metadata: {name: ${name}, namespace: shop}, spec: {ports: [{name: http, port: 80}]}}\n---\n`;
const route = (name: string, host: string, to: string, metadata = ""): string =>
  `{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: ${name}, namespace: shop${metadata}}, spec: {hosts: [${host}], http: [{route: [{destination: {host: ${to}}}]}]}}\n---\n`;
const mesh = ["cart", "pay"].map(service).join("") + route("a", "cart", "pay");

async function analysisOf(text: string) {
  const database = new Database<undefined>();
  database.commit((tx) => {
    tx.set(meshConfig, meshConfigKey, defaultMeshConfig());
    applyChanges(tx, changesOf(text));
  });
  const analysis = new LiveAnalysis({ database, client: undefined, kinds: allKinds, sources: [], problems: () => [] });
  onTestFinished(() => analysis.stop());
  const addedBy = async (written: string, withinMs = 60_000) => {
    const [change] = changesOf(written);
    if (change === undefined || !("object" in change)) throw new Error("no object");
    const { kind, key, object } = change;
    return analysis.findingsAddedBy({ collection: kind.collection, key, object }, withinMs);
  };
  return { database, analysis, addedBy };
}

const formatted = (findings: readonly Finding[] = []): readonly string[] =>
  findings.map(({ code, origin, path }) => `${code} ${origin.kind} ${origin.name} ${path.join(".")}`);

const written = {
  "a route that leads nowhere": route("b", "pay", "apy"),
  "an update of the route": route("a", "cart", "apy"),
  "a conflict, which is a finding about both": route("b", "cart", "pay"),
  "a good route": route("b", "pay", "cart"),
  "an equal object": route("a", "cart", "pay"),
};

test.for(Object.entries(written))("%s: the findings are those that its commit would add", async ([, text]) => {
  const { database, analysis, addedBy } = await analysisOf(mesh);
  expect(await addedBy(text)).toBeUndefined();
  const before = formatted(await analysis.findings());
  const revision = database.revision;
  const added = await addedBy(text);
  expect(added?.isComplete).toBe(true);
  expect(database.revision).toBe(revision);
  expect(formatted(await analysis.findings())).toEqual(before);
  database.commit((tx) => applyChanges(tx, changesOf(text)));
  const after = formatted(await analysis.findings());
  expect([...formatted(added?.findings)].sort()).toEqual(after.filter((each) => !before.includes(each)).sort());
});

test("findings about other objects are among them", async () => {
  const { analysis, addedBy } = await analysisOf(mesh);
  await analysis.start();
  expect(formatted((await addedBy(route("b", "cart", "pay")))?.findings)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^IST0109 VirtualService b/),
      expect.stringMatching(/^IST0109 VirtualService a/),
    ]),
  );
  expect(formatted((await addedBy(route("b", "pay", "apy")))?.findings)).toEqual([
    "IST0101 VirtualService b spec.http.0.route.0.destination.host",
  ]);
});

test("an annotation of the new object suppresses findings about it", async () => {
  const { analysis, addedBy } = await analysisOf(mesh);
  await analysis.start();
  const annotated = route("b", "pay", "apy", ', annotations: {"galley.istio.io/analyze-suppress": IST0101}');
  expect(formatted((await addedBy(annotated))?.findings)).toEqual([]);
});

test("without time there is no result, and a commit in between starts it over", async () => {
  const { database, analysis, addedBy } = await analysisOf(mesh);
  await analysis.start();
  expect(await addedBy(route("b", "pay", "apy"), 0)).toMatchObject({ findings: [], isComplete: false });
  const added = addedBy(route("b", "pay", "new"));
  await Promise.resolve();
  database.commit((tx) => applyChanges(tx, changesOf(service("new"))));
  expect(formatted((await added)?.findings)).toEqual([]);
});
