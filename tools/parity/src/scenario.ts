import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { parseAllDocuments } from "yaml";

/** JSON as it comes from a file. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** The kinds of resources a scenario records, by their short names. */
export const types = ["cds", "eds", "lds", "rds", "ecds", "nds"] as const;
export type Type = (typeof types)[number];

/** A proxy as a scenario lists it: its key, whose base result it is compared with, and its node. */
export interface ScenarioProxy {
  readonly key: string;
  readonly origin: string;
  readonly node: JsonObject;
}

/** A recorded situation: objects, mesh configuration, proxies, and where its expected resources stand. */
export interface Scenario {
  readonly name: string;
  readonly base: string;
  readonly folder: string | undefined;
  readonly config: JsonObject;
  readonly proxies: readonly ScenarioProxy[];
}

/** All scenarios below a folder, each with its base; bases that have proxies come first. */
export function findScenarios(root: string): Scenario[] {
  const bases = basesOf(root);
  const found: Scenario[] = [];
  walk(root, (folder) => {
    const file = join(folder, "scenario.json");
    if (!existsSync(file)) return;
    const config = json(file) as JsonObject;
    found.push(scenario(relative(root, folder), join(bases, String(config["base"])), folder, config));
  });
  const used = [...new Set(found.map((s) => s.base))].sort();
  const own = used.map((b) => scenario(`bases/${b.split("/").at(-1)}`, b, undefined, {}));
  return [...own.filter((s) => s.proxies.length > 0), ...found];
}

function scenario(name: string, base: string, folder: string | undefined, config: JsonObject): Scenario {
  const known = new Map(entries(join(base, "proxies.json")).map((p) => [String(p["key"]), p]));
  const variants = new Map(folder ? entries(join(folder, "proxies.json")).map((p) => [String(p["key"]), p]) : []);
  const wanted = Array.isArray(config["proxies"]) ? config["proxies"].map(String) : [...known.keys()];
  const proxies = wanted.map((key): ScenarioProxy => {
    const variant = variants.get(key);
    if (!variant) return { key, origin: key, node: known.get(key) ?? fail(`${name}: no proxy ${key}`) };
    const { from, ...rest } = variant;
    if (from === undefined) return { key, origin: key, node: rest };
    const origin = known.get(String(from)) ?? fail(`${name}: no proxy ${String(from)}`);
    return { key, origin: String(from), node: merged(origin, rest) as JsonObject };
  });
  return { name, base, folder, config, proxies };
}

/** A file of the scenario, or else of its base; undefined where neither has it. */
export function fileOf(s: Scenario, name: string): string | undefined {
  return [s.folder, s.base]
    .filter((d) => d !== undefined)
    .map((d) => join(d, name))
    .find(existsSync);
}

/** The environment variables that a scenario sets. */
export function environmentOf(s: Scenario): Record<string, string> {
  const file = s.folder && join(s.folder, "env");
  if (!file || !existsSync(file)) return {};
  const lines = readFileSync(file, "utf8")
    .split("\n")
    .filter((l) => l.includes("=") && !l.startsWith("#"));
  return Object.fromEntries(lines.map((l) => [l.slice(0, l.indexOf("=")), l.slice(l.indexOf("=") + 1)]));
}

/** The objects: the base's, less those removed or replaced, and the scenario's own. */
export function objectsOf(s: Scenario): JsonObject[] {
  const own = s.folder ? documents(join(s.folder, "input.yaml")) : [];
  const gone = new Set(own.map(identity));
  for (const r of Array.isArray(s.config["remove"]) ? s.config["remove"] : []) gone.add(String(r));
  const files = readdirSync(s.base).filter((f) => f.endsWith(".yaml") && f !== "mesh.yaml" && f !== "networks.yaml");
  const base = files
    .sort()
    .flatMap((f) => documents(join(s.base, f)))
    .filter((d) => !gone.has(identity(d)));
  return [...base, ...own];
}

/** Returns Istio's resources by proxy key and type: those of the base with the scenario's changes applied. */
export function expectedOf(s: Scenario): Map<string, readonly JsonObject[]> {
  const out = new Map<string, readonly JsonObject[]>();
  const folder = join(s.folder ?? s.base, "expected");
  const removed = (s.folder && existsSync(join(folder, "removed.json")) ? json(join(folder, "removed.json")) : {}) as {
    [key: string]: { [type: string]: string[] };
  };
  for (const { key, origin } of s.proxies) {
    for (const t of types) {
      if (!s.folder) {
        const file = join(folder, `${key}.${t}.json`);
        if (t !== "nds" || existsSync(file)) out.set(`${key} ${t}`, entries(file));
        continue;
      }
      const have = new Map(entries(join(s.base, "expected", `${origin}.${t}.json`)).map((r) => [nameOf(t, r), r]));
      for (const name of removed[key]?.[t] ?? []) have.delete(name);
      for (const r of entries(join(folder, `${key}.${t}.json`))) have.set(nameOf(t, r), resolved(folder, t, r));
      out.set(`${key} ${t}`, [...have.values()]);
    }
  }
  return out;
}

function resolved(folder: string, t: Type, r: JsonObject): JsonObject {
  if (r["$like"] === undefined) return r;
  const same = entries(join(folder, `${String(r["$like"])}.${t}.json`)).find((x) => nameOf(t, x) === r["name"]);
  return same ?? fail(`${folder}: no ${t} ${String(r["name"])} of ${String(r["$like"])}`);
}

/** The name of a resource in JSON form. */
export function nameOf(t: Type, r: JsonObject): string {
  return t === "nds" ? "" : String(r[t === "eds" && "clusterName" in r ? "clusterName" : "name"] ?? "");
}

function identity(d: JsonObject): string {
  const m = (d["metadata"] ?? {}) as JsonObject;
  return `${String(d["kind"])}/${String(m["namespace"] ?? "")}/${String(m["name"])}`;
}

/** Caches the contents of files by path, so that all scenarios of a base share its objects. */
function once<T>(read: (file: string) => T): (file: string) => T {
  const known = new Map<string, T>();
  return (file) => {
    const found = known.get(file) ?? read(file);
    if (file.includes(`${sep}bases${sep}`)) known.set(file, found);
    return found;
  };
}

const documents = once((file): readonly JsonObject[] =>
  existsSync(file)
    ? parseAllDocuments(readFileSync(file, "utf8"))
        .map((d) => d.toJS() as Json)
        .filter((d): d is JsonObject => d !== null)
    : [],
);

const entries = once((file): readonly JsonObject[] => (existsSync(file) ? (json(file) as JsonObject[]) : []));

function json(file: string): Json {
  return JSON.parse(readFileSync(file, "utf8")) as Json;
}

function merged(base: Json | undefined, change: Json): Json {
  if (!isObject(base) || !isObject(change)) return change;
  const out: JsonObject = { ...base };
  for (const [k, v] of Object.entries(change)) {
    if (v === null) delete out[k];
    else out[k] = merged(base[k], v);
  }
  return out;
}

export function isObject(v: Json | undefined): v is JsonObject {
  return typeof v === "object" && v !== null && !Array.isArray(v);
}

function walk(folder: string, visit: (folder: string) => void): void {
  visit(folder);
  for (const e of readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (e.isDirectory() && e.name !== "expected") walk(join(folder, e.name), visit);
  }
}

function basesOf(root: string): string {
  for (let d = resolve(root); ; d = resolve(d, "..")) {
    if (existsSync(join(d, "bases"))) return join(d, "bases");
    if (existsSync(join(d, "suite.json")))
      return resolve(d, String((json(join(d, "suite.json")) as JsonObject)["bases"]));
    if (d === resolve(d, "..")) return fail(`no bases/ at or above ${root}`);
  }
}

function fail(message: string): never {
  throw new Error(message);
}
