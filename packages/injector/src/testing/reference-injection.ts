import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { applyMeshConfig } from "@istiod/config-schema";
import type { MeshConfig } from "@istiod/istio-api/mesh/v1alpha1/config";
import { parse, parseAllDocuments, stringify } from "yaml";
import { type InjectorConfig, parseInjectorConfig } from "../config/injector-config.js";
import { type InjectorValues, parseValues } from "../config/values.js";

type Json = Record<string, unknown>;

/** A case of the reference: a file, and the file that injection makes of it. */
export interface ReferenceCase {
  readonly input: string;
  readonly want?: string;
  readonly iop?: string;
  readonly setFlags?: readonly string[];
  readonly meshConfig?: Json;
  readonly env?: Readonly<Record<string, string>>;
  readonly skipWebhook?: boolean;
  readonly expectedError?: string;
  readonly expectedLog?: string;
}

/** The files with which a case is injected, as `istiod kube-inject` reads them. */
export interface CaseFiles {
  readonly injectConfig: string;
  readonly values: string;
  readonly meshConfig: string;
}

const shared = new URL("../../../../../shared/peer/", import.meta.url);
const path = (name: string): string => fileURLToPath(new URL(name, shared));
const read = (name: string): string => readFileSync(path(name), "utf8");

/** Reason for skipping the cases; undefined if they can run. */
export const absence = existsSync(path("inject/cases.json"))
  ? undefined
  : "no ../shared/peer/inject beside the repository";

/** Returns the cases; none where the reference is absent. */
export function referenceCases(): readonly ReferenceCase[] {
  if (absence !== undefined) return [];
  const { cases, oldNodeCases } = JSON.parse(read("inject/cases.json")) as {
    readonly cases: readonly ReferenceCase[];
    readonly oldNodeCases: readonly ReferenceCase[];
  };
  return [...cases, ...oldNodeCases];
}

export const inputPath = ({ input }: ReferenceCase): string => path(`inject/${input}`);
export const inputOf = ({ input }: ReferenceCase): string => read(`inject/${input}`);
export const wantOf = ({ want = "" }: ReferenceCase): string => read(`inject/${want}`);

/** Default values and injection templates of an installation. */
export interface Installation {
  readonly values: Json;
  readonly templates: Readonly<Record<string, string>>;
}

/** Returns the installation of the reference. */
export const referenceInstallation = (): Installation => ({
  values: (parse(read("inject-templates/values.yaml")) as Json)["_internal_defaults_do_not_set"] as Json,
  templates: Object.fromEntries(
    Object.entries(templateFiles).map(([name, file]) => [name, read(`inject-templates/${file}`).trim()]),
  ),
});

/**
 * Returns the files of a case, by the rules that come with the reference.
 *
 * @param installation default: that of the reference
 */
export function filesOf(
  { iop, setFlags = [], meshConfig = {} }: ReferenceCase,
  installation: Installation = referenceInstallation(),
): CaseFiles {
  const all = valuesOf(installation.values, iop, setFlags);
  const { global, sidecarInjectorWebhook } = all as Record<string, Json>;
  return {
    values: JSON.stringify(injectionValues(all)),
    injectConfig: stringify(injectConfig(installation.templates, global ?? {}, sidecarInjectorWebhook ?? {})),
    meshConfig: stringify(merge(baseMesh, meshConfig)),
  };
}

/** Returns the part of an installation's values that injection gets. */
export function injectionValues(all: Json): Json {
  const { global, sidecarInjectorWebhook, revision, cni, env, gateways } = all as Record<string, Json>;
  const { securityContext, seccompProfile } = gateways ?? {};
  return {
    global,
    sidecarInjectorWebhook,
    revision,
    pilot: { cni, env },
    gateways: {
      ...(securityContext !== undefined && { securityContext }),
      ...(seccompProfile !== undefined && { seccompProfile }),
    },
  };
}

const baseMesh: Json = {
  rootNamespace: "istio-system",
  trustDomain: "cluster.local",
  defaultProviders: { metrics: ["prometheus"] },
  defaultConfig: { discoveryAddress: "istiod.istio-system.svc:15012" },
};

function valuesOf(defaults: Json, iop: string | undefined, setFlags: readonly string[]): Json {
  const values = merge(structuredClone(defaults), { global: { hub: "registry.istio.io/testing", tag: "latest" } });
  const custom = iop === undefined ? {} : ((parse(read(`inject/${iop}`)) as Json)["spec"] as Json)["values"];
  const merged = merge(values, (custom ?? {}) as Json);
  for (const flag of setFlags) {
    const [name = "", value = ""] = flag.split(/=(.*)/s);
    const keys = name
      .replace(/^components\.cni\./, "values.cni.")
      .split(".")
      .slice(1);
    const parent = keys.slice(0, -1).reduce<Json>((object, key) => (object[key] ??= {}) as Json, merged);
    parent[keys.at(-1) ?? ""] = /^(?:true|false|-?\d+)$/.test(value) ? JSON.parse(value) : value;
  }
  return merged;
}

function merge(base: Json, over: Json): Json {
  const isMap = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
  const result = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const present = result[key];
    result[key] = isMap(present) && isMap(value) ? merge(present, value) : value;
  }
  return result;
}

const templateFiles: Readonly<Record<string, string>> = {
  sidecar: "injection-template.yaml",
  gateway: "gateway-injection-template.yaml",
  ...Object.fromEntries(
    ["grpc-simple", "grpc-agent", "waypoint", "kube-gateway", "agentgateway", "agentgateway-waypoint"].map((name) => [
      name,
      `${name}.yaml`,
    ]),
  ),
};

function injectConfig(templates: Installation["templates"], global: Json, webhook: Json): Json {
  const own = (webhook["templates"] ?? {}) as Json;
  const defaults = (webhook["defaultTemplates"] ?? []) as readonly string[];
  return {
    policy: (global["proxy"] as Json)["autoInject"],
    defaultTemplates: defaults.length > 0 ? defaults : ["sidecar"],
    alwaysInjectSelector: webhook["alwaysInjectSelector"] ?? [],
    neverInjectSelector: webhook["neverInjectSelector"] ?? [],
    injectedAnnotations: webhook["injectedAnnotations"] ?? {},
    templates: { ...templates, ...own },
  };
}

/** The files of a case, parsed. */
export interface ParsedFiles {
  readonly config: InjectorConfig;
  readonly values: InjectorValues;
  readonly meshConfig: MeshConfig;
}

/** Parses the files of a case. */
export function parseFiles({ injectConfig: config, values, meshConfig }: CaseFiles): ParsedFiles {
  return {
    config: parseInjectorConfig(config, { environment: {}, now: () => 0 }),
    values: parseValues(values),
    meshConfig: meshOf(parse(meshConfig)),
  };
}

function meshOf(document: unknown): MeshConfig {
  const applied = applyMeshConfig(document, {
    error: (place, message) => {
      throw new Error(`${place.join(".")} ${message}`);
    },
    warning: () => undefined,
  });
  if (applied === undefined) throw new Error("no mesh configuration");
  return applied;
}

/** Returns the documents of a file without nulls and empty objects, which are residue of Go's types. */
export const comparable = (text: string): readonly unknown[] =>
  parseAllDocuments(text, { version: "1.1" })
    .map((document) => withoutResidue(document.toJS()))
    .filter((document) => document !== undefined);

/** Returns JSON without nulls and empty objects; undefined if nothing is left. */
export function withoutResidue(value: unknown): unknown {
  if (value === null) return undefined;
  if (Array.isArray(value)) return value.map(withoutResidue);
  if (typeof value !== "object") return value;
  const entries = Object.entries(value ?? {}).map(([key, item]) => [key, withoutResidue(item)] as const);
  const kept = entries.filter(([, item]) => item !== undefined);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/**
 * Returns injected objects without what differs on purpose in the reference: the script of `grpc-simple` and its
 * environment, which are compared by their effect (manifests/README.md).
 */
export function withoutBootstrapScript(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutBootstrapScript);
  if (typeof value !== "object" || value === null) return value;
  const isScript = "name" in value && value.name === "grpc-bootstrap-init";
  const entries = Object.entries(value).filter(([key]) => !isScript || (key !== "command" && key !== "env"));
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutBootstrapScript(item)]));
}
