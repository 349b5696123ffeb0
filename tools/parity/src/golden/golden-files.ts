import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { proxyResources, resourceJson } from "@istiod/explain";
import type { Database } from "@istiod/incremental";
import { type Proxy, proxyNamed } from "@istiod/push-context";
import { clusterType, endpointType, listenerType, routeType } from "@istiod/resources";
import { Document, parse, visit } from "yaml";
import { type Abbreviations, Abbreviator } from "./abbreviations.js";
import { loadSample } from "./sample-mesh.js";

const repository = fileURLToPath(new URL("../../../../", import.meta.url));

/** Folder of the samples, one mesh each. */
export const samplesFolder = join(repository, "samples");

/** The proxies whose configuration is golden, as `name.namespace` of their Pods, by sample. */
export const goldenProxies: Readonly<Record<string, readonly string[]>> = {
  "access-logs": ["checkout-1.shop"],
  bookinfo: ["ingressgateway.istio-system", "productpage-v1.bookinfo"],
  canary: ["web-1.shop"],
  egress: ["web-1.shop"],
  "fault-injection": ["web-1.shop"],
  "header-routing": ["web-1.shop"],
  "ingress-tls": ["ingressgateway-1.ingress"],
  "jwt-authorization": ["orders-1.shop"],
  "locality-failover": ["admin-1.shop", "web-1.shop"],
  "mtls-strict": ["cart-1.shop", "web-1.shop"],
  "sidecar-scope": ["reports-1.shop", "web-1.shop"],
  "tcp-shifting": ["importer-1.batch", "web-1.shop"],
  "virtual-machine": ["web-1.shop"],
};

/** Command that rewrites the golden files. */
export const updateCommand = "npm run golden:update";

/** The types of a golden file, in its order, with the name of their message. */
const sections = [
  { section: "listeners", typeUrl: listenerType },
  { section: "routes", typeUrl: routeType },
  { section: "clusters", typeUrl: clusterType },
  { section: "endpoints", typeUrl: endpointType },
] as const;

/** A golden file: its path in the repository, and the text that the generators yield for it. */
export interface GoldenFile {
  readonly path: string;
  readonly text: string;
}

const folder = "tools/parity/golden";

/** Returns the golden files of a sample as the generators yield them now. */
export function generateGolden(sample: string): readonly GoldenFile[] {
  const database = loadSampleForGolden(sample);
  return (goldenProxies[sample] ?? []).map((proxy) => ({
    path: `${folder}/${sample}/${proxy}.yaml`,
    text: render(database, sample, proxy),
  }));
}

/** Loads a sample as its golden files assume: without tracing, whose tags are in every HTTP connection manager. */
export function loadSampleForGolden(sample: string): Database<Proxy> {
  return loadSample(join(samplesFolder, sample), { enableTracing: false });
}

/** Returns the text of a golden file; undefined if it does not exist. */
export function readGolden(path: string): string | undefined {
  const file = join(repository, path);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/** Returns the paths of all golden files that exist, sorted. */
export function goldenPaths(): readonly string[] {
  return readdirSync(join(repository, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => dirname(name) !== "." && name.endsWith(".yaml"))
    .map((name) => `${folder}/${name}`)
    .sort();
}

/** Rewrites all golden files, deletes those of proxies that are no longer listed, and returns the changed paths. */
export function updateGolden(): readonly string[] {
  const files = Object.keys(goldenProxies).flatMap(generateGolden);
  const stale = goldenPaths().filter((path) => !files.some((file) => file.path === path));
  const changed = files.filter(({ path, text }) => readGolden(path) !== text);
  for (const path of stale) rmSync(join(repository, path));
  for (const { path, text } of changed) {
    mkdirSync(dirname(join(repository, path)), { recursive: true });
    writeFileSync(join(repository, path), text);
  }
  return [...stale, ...changed.map(({ path }) => path)].sort();
}

let abbreviator: Abbreviator | undefined;

function render(database: Database<Proxy>, sample: string, name: string): string {
  abbreviator ??= new Abbreviator(
    parse(readFileSync(join(repository, folder, "abbreviations.yaml"), "utf8")) as Abbreviations,
  );
  const resources = proxyResources(database, proxyNamed(database, name));
  const content = Object.fromEntries(
    sections.map(({ section, typeUrl }) => [
      section,
      (resources.get(typeUrl) ?? [])
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
        .map(({ bytes }) =>
          abbreviator?.abbreviate(resourceJson(typeUrl, bytes), typeUrl.slice(typeUrl.lastIndexOf(".") + 1)),
        ),
    ]),
  );
  const comment = `# ${name} of samples/${sample}. Abbreviated by ../abbreviations.yaml, written by \`${updateCommand}\`.\n`;
  return comment + compactYaml(content);
}

/** Longest value, in characters of JSON, that is written on one line. */
const lineLength = 100;

/** Returns YAML in which short maps and lists stand on one line each. */
function compactYaml(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Collection: (_, node) => {
      if (JSON.stringify(node.toJS(document)).length > lineLength) return undefined;
      node.flow = true;
      return visit.SKIP;
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}
