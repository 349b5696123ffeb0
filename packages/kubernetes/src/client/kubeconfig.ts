import type { Cluster, User } from "@kubernetes/client-node";
import { load } from "js-yaml";
import { ApiError } from "../api-error.js";

/** A user of a kubeconfig. */
export interface KubeconfigUser extends User {
  /** Takes precedence over a token, as in client-go. */
  readonly tokenFile?: string;
}

/** A context of a kubeconfig. */
export interface KubeconfigContext {
  readonly name: string;
  readonly cluster: string;
  readonly user?: string | undefined;
  readonly namespace?: string | undefined;
}

/** The parts of a kubeconfig, in the form of `@kubernetes/client-node`. */
export interface Kubeconfig {
  readonly clusters: readonly Cluster[];
  readonly users: readonly KubeconfigUser[];
  readonly contexts: readonly KubeconfigContext[];
  readonly currentContext: string | undefined;
}

/**
 * Decodes the text of a kubeconfig. `@kubernetes/client-node` can do so too, but loading it takes half a second of CPU
 * and 80 MB.
 *
 * @throws ApiError `configuration`, without quoting the text, which has credentials
 */
export function decodeKubeconfig(text: string): Kubeconfig {
  const root = new Fields(parsed(text), "kubeconfig");
  return {
    clusters: root.list("clusters").map((entry) => clusterOf(entry.required("name"), entry.fields("cluster"))),
    users: root.list("users").map((entry) => userOf(entry.required("name"), entry.optionalFields("user"))),
    contexts: root.list("contexts").map((entry) => contextOf(entry.required("name"), entry.fields("context"))),
    currentContext: root.text("current-context"),
  };
}

function parsed(text: string): unknown {
  try {
    return load(text) ?? {};
  } catch (error) {
    // The lines after the first quote the text.
    throw new ApiError(
      "configuration",
      error instanceof Error ? (error.message.split("\n")[0] ?? "invalid") : "invalid",
    );
  }
}

function clusterOf(name: string, cluster: Fields): Cluster {
  return withoutUndefined({
    name,
    server: cluster.required("server").replace(/\/$/, ""),
    caData: cluster.text("certificate-authority-data"),
    caFile: cluster.text("certificate-authority"),
    skipTLSVerify: cluster.flag("insecure-skip-tls-verify"),
    tlsServerName: cluster.text("tls-server-name"),
    proxyUrl: cluster.text("proxy-url"),
  });
}

function userOf(name: string, user: Fields): KubeconfigUser {
  const tokenFile = user.text("token-file") ?? user.text("tokenFile");
  return withoutUndefined({
    name,
    certData: user.text("client-certificate-data"),
    certFile: user.text("client-certificate"),
    keyData: user.text("client-key-data"),
    keyFile: user.text("client-key"),
    token: tokenFile === undefined ? user.text("token") : undefined,
    tokenFile,
    username: user.text("username"),
    password: user.text("password"),
    impersonateUser: user.text("as"),
    exec: user.plain("exec"),
    authProvider: authProviderOf(user),
  });
}

/**
 * Returns the auth provider of a user. Its configuration has strings only, and neither a token file nor a program: as
 * in client-go, these are fields of the user, while `@kubernetes/client-node` uses them for any provider.
 */
function authProviderOf(user: Fields): User["authProvider"] {
  const provider = user.plain("auth-provider");
  if (provider === undefined) return undefined;
  const fields = user.fields("auth-provider");
  const config = fields.optionalFields("config").texts();
  for (const field of ["tokenFile", "exec"]) delete config[field];
  return { name: fields.required("name"), config };
}

function contextOf(name: string, context: Fields): KubeconfigContext {
  const [cluster, user, namespace] = [context.required("cluster"), context.text("user"), context.text("namespace")];
  return { name, cluster, user, namespace };
}

/** Fields of an object of a kubeconfig. Empty strings count as absent. */
class Fields {
  readonly #fields: Readonly<Record<string, unknown>>;

  constructor(
    value: unknown,
    readonly path: string,
  ) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) fail(path, "expected an object");
    this.#fields = value as Readonly<Record<string, unknown>>;
  }

  text(name: string): string | undefined {
    const value = this.#value(name);
    if (value !== undefined && typeof value !== "string") fail(this.#pathOf(name), "expected a string");
    return value === "" ? undefined : value;
  }

  required(name: string): string {
    return this.text(name) ?? fail(this.#pathOf(name), "missing");
  }

  flag(name: string): boolean {
    const value = this.#value(name) ?? false;
    return typeof value === "boolean" ? value : fail(this.#pathOf(name), "expected true or false");
  }

  fields(name: string): Fields {
    return new Fields(this.#value(name) ?? fail(this.#pathOf(name), "missing"), this.#pathOf(name));
  }

  optionalFields(name: string): Fields {
    return new Fields(this.#value(name) ?? {}, this.#pathOf(name));
  }

  /** Returns an object as it is. */
  plain(name: string): Readonly<Record<string, unknown>> | undefined {
    return this.#value(name) === undefined ? undefined : this.fields(name).#fields;
  }

  /** Returns all fields, which must be strings. */
  texts(): Record<string, string> {
    const entries = Object.keys(this.#fields).map((name) => [name, this.text(name) ?? ""] as const);
    return Object.fromEntries(entries);
  }

  list(name: string): readonly Fields[] {
    const value = this.#value(name) ?? [];
    if (!Array.isArray(value)) return fail(this.#pathOf(name), "expected a list");
    return value.map((item, index) => new Fields(item, `${name}[${index}]`));
  }

  #value(name: string): unknown {
    return Object.hasOwn(this.#fields, name) ? (this.#fields[name] ?? undefined) : undefined;
  }

  #pathOf(name: string): string {
    return this.path === "kubeconfig" ? name : `${this.path}.${name}`;
  }
}

function fail(path: string, problem: string): never {
  throw new ApiError("configuration", `${path}: ${problem}`);
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

function withoutUndefined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}
