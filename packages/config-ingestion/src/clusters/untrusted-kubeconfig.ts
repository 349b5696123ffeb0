import { parseYaml } from "@istiod/config-schema";
import { IngestionError } from "../errors.js";

type Fields = Readonly<Record<string, unknown>>;

/** Credentials of users that neither read files nor run programs. */
const safeUserFields = [
  "client-certificate-data",
  "client-key-data",
  "token",
  "username",
  "password",
  "as",
  "as-groups",
  "as-user-extra",
];

/** Credentials that read files or run programs of this process, by the option that allows them. */
const guardedUserFields: Readonly<Record<string, string>> = {
  "client-certificate": "clientCertificate",
  "client-key": "clientKey",
  tokenFile: "tokenFile",
  "token-file": "tokenFile",
  exec: "exec",
};

/** Configuration of auth providers that reads files or runs programs, by the option that allows it. */
const guardedProviderFields: Readonly<Record<string, string>> = {
  tokenFile: "tokenFile",
  "token-file": "tokenFile",
  exec: "exec",
  "cmd-path": "exec",
  "cmd-args": "exec",
  "idp-certificate-authority": "certificateAuthority",
};

/** Configuration of the auth provider `oidc`. */
const oidcFields = [
  "idp-issuer-url",
  "client-id",
  "client-secret",
  "idp-certificate-authority",
  "idp-certificate-authority-data",
  "extra-scopes",
  "id-token",
  "refresh-token",
];

/**
 * Returns a kubeconfig from a Secret with what it needs to connect, as JSON. Credentials that read files or run
 * programs could disclose those of this process, and are rejected unless they are allowed. Unknown fields of users and
 * of the auth provider `oidc` are left out. (`pkg/kube/util.go`, `sanitizeKubeConfig`; the files and programs in the
 * configuration of an auth provider are rejected in addition, because `@kubernetes/client-node` uses them whatever the
 * name of the provider is.)
 *
 * @param allowed values of `PILOT_INSECURE_MULTICLUSTER_KUBECONFIG_OPTIONS`: `clientKey`, `clientCertificate`,
 *   `certificateAuthority`, `tokenFile`, `exec`, or names of auth providers
 * @throws IngestionError that names the field, never a credential
 */
export function sanitizeKubeconfig(text: string, allowed: ReadonlySet<string> = new Set()): string {
  const kubeconfig = parseKubeconfig(text);
  checkReferences(kubeconfig);
  for (const { name, value } of named(kubeconfig, "clusters", "cluster")) checkCluster(name, value, allowed);
  const users = named(kubeconfig, "users", "user").map(({ name, value }) => ({
    name,
    user: sanitizeUser(name, value, allowed),
  }));
  return JSON.stringify({ ...kubeconfig, users });
}

/**
 * Returns the ID of the cluster that a kubeconfig file describes: the cluster of its current context, else of the
 * first context by name, else the first cluster by name.
 *
 * @throws IngestionError if it names no cluster
 */
export function clusterOfKubeconfig(text: string): string {
  const kubeconfig = parseKubeconfig(text);
  const contexts = named(kubeconfig, "contexts", "context").sort(byName);
  const current = contexts.filter(({ name }) => name === kubeconfig["current-context"]);
  const ofContexts = [...current, ...contexts].map(({ value }) => value["cluster"]);
  const ofClusters = named(kubeconfig, "clusters", "cluster").sort(byName);
  const cluster = [...ofContexts, ...ofClusters.map(({ name }) => name)].find((id) => id !== undefined && id !== "");
  if (typeof cluster !== "string") throw invalid("names no cluster");
  return cluster;
}

function parseKubeconfig(text: string): Fields {
  if (text.trim() === "") throw invalid("is empty");
  const parsed = parseYaml({ text, line: 1 });
  // The parser's message quotes the text, which has credentials.
  if ("message" in parsed) throw invalid(`is not YAML, see line ${parsed.line}`);
  if (!isFields(parsed.value)) throw invalid("is not a mapping");
  return parsed.value;
}

function sanitizeUser(name: string, user: Fields, allowed: ReadonlySet<string>): Fields {
  const at = `users[${JSON.stringify(name)}].user`;
  const kept: Record<string, unknown> = {};
  for (const field of safeUserFields) if (isGiven(user[field])) kept[field] = user[field];
  for (const [field, option] of Object.entries(guardedUserFields)) {
    if (!isGiven(user[field])) continue;
    if (!allowed.has(option)) throw notAllowed(`${at}.${field}`, option);
    kept[field] = user[field];
  }
  const provider = user["auth-provider"];
  if (isGiven(provider)) kept["auth-provider"] = sanitizeProvider(`${at}.auth-provider`, provider, allowed);
  return kept;
}

function sanitizeProvider(at: string, provider: unknown, allowed: ReadonlySet<string>): Fields {
  const name = isFields(provider) ? provider["name"] : undefined;
  if (!isFields(provider) || typeof name !== "string") throw invalid(`${at}.name: is missing`);
  if (name !== "oidc" && !allowed.has(name)) throw notAllowed(at, name);
  const config = provider["config"] ?? {};
  if (!isFields(config)) throw invalid(`${at}.config: is no mapping`);
  for (const [field, value] of Object.entries(config)) {
    const option = Object.hasOwn(guardedProviderFields, field) ? guardedProviderFields[field] : undefined;
    if (option !== undefined && isGiven(value) && !allowed.has(option) && !allowsCommands(name, field))
      throw notAllowed(`${at}.config.${field}`, option);
    if (typeof value !== "string" && field !== "exec")
      throw invalid(`${at}.config.${field.slice(0, 100)}: is no string`);
  }
  const isKept = (field: string): boolean =>
    name !== "oidc" || oidcFields.includes(field) || Object.hasOwn(guardedProviderFields, field);
  return { name, config: Object.fromEntries(Object.entries(config).filter(([field]) => isKept(field))) };
}

/** Reports whether the name of an allowed provider is the permission to run the command of its configuration. */
function allowsCommands(provider: string, field: string): boolean {
  return provider !== "oidc" && field.startsWith("cmd-");
}

/** A file of this process as the certificate authority shows by the failures of connections whether it exists. */
function checkCluster(name: string, cluster: Fields, allowed: ReadonlySet<string>): void {
  const field = "certificate-authority";
  if (isGiven(cluster[field]) && !allowed.has("certificateAuthority"))
    throw notAllowed(`clusters[${JSON.stringify(name)}].cluster.${field}`, "certificateAuthority");
}

function checkReferences(kubeconfig: Fields): void {
  const current = kubeconfig["current-context"];
  if (typeof current !== "string" || current === "") throw invalid("current-context: is missing");
  const context = named(kubeconfig, "contexts", "context").find(({ name }) => name === current)?.value;
  if (context === undefined) throw invalid(`current-context: ${JSON.stringify(current)} is no context`);
  const cluster = referenced(kubeconfig, "clusters", "cluster", context);
  referenced(kubeconfig, "users", "user", context);
  const server = cluster["server"];
  const at = `clusters[${JSON.stringify(context["cluster"])}].cluster.server`;
  if (typeof server !== "string" || !URL.canParse(server)) throw invalid(`${at}: is missing, expected a URL`);
  if (!/^https?:$/.test(new URL(server).protocol)) throw invalid(`${at}: is no URL of http or https`);
}

function referenced(kubeconfig: Fields, list: string, field: string, context: Fields): Fields {
  const wanted = context[field];
  const found = named(kubeconfig, list, field).find(({ name }) => name === wanted)?.value;
  if (found === undefined) throw invalid(`contexts: the current context has no ${field} in ${list}`);
  return found;
}

/** Returns the entries of a list of named mappings. */
function named(kubeconfig: Fields, list: string, field: string): { readonly name: string; readonly value: Fields }[] {
  const entries = kubeconfig[list] ?? [];
  if (!Array.isArray(entries)) throw invalid(`${list}: is no list`);
  return entries.map((entry: unknown, i) => {
    const name = isFields(entry) ? entry["name"] : undefined;
    const value = isFields(entry) ? (entry[field] ?? {}) : undefined;
    if (typeof name !== "string" || !isFields(value)) throw invalid(`${list}[${i}]: has no name or no ${field}`);
    return { name, value };
  });
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function invalid(message: string): IngestionError {
  return new IngestionError("invalid", `kubeconfig: ${message}`);
}

function notAllowed(path: string, option: string): IngestionError {
  return invalid(
    `${path}: is not allowed, because it could disclose credentials of istiod; ` +
      `PILOT_INSECURE_MULTICLUSTER_KUBECONFIG_OPTIONS=${option} allows it`,
  );
}
