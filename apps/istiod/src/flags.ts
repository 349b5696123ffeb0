import { parseGoDuration, parseBoolean } from "@istiod/settings";
import { Option } from "commander";
import { variables } from "./variables.js";

/**
 * One flag of `istiod discovery`: the only place that declares it. Parsing, `--help` and the documentation come from
 * here.
 */
interface Flag {
  readonly name: string;
  /** One-letter form, without the dash. */
  readonly short?: string;
  /** Shown in `--help` as the value's place; absent for a boolean. */
  readonly value?: string;
  readonly about: string;
  readonly default?: string | boolean | readonly string[] | ((env: NodeJS.ProcessEnv) => string);
  /** Given more than once; each value is kept, in the place of the default. */
  readonly repeated?: boolean;
  /** Why the flag has no effect; absent if it has one. Said at startup where the flag is given. */
  readonly noEffect?: string;
}

const noApiServer = "objects are read from directories, not from an API server";

/** Flags of `pilot-discovery discovery` with the names and defaults of Istio, and ours after them. */
export const flags = [
  {
    name: "configDir",
    value: "<dir>",
    about: "directory of YAML that is the source of all objects; watched",
    default: "",
  },
  {
    name: "clusterDir",
    value: "<id=dir>",
    about: "directory of the Kubernetes objects of another cluster of the mesh; watched; repeatable",
    repeated: true,
    default: [],
  },
  {
    name: "meshConfig",
    value: "<file>",
    about: "mesh configuration; absent file: defaults",
    default: "./etc/istio/config/mesh",
  },
  {
    name: "networksConfig",
    value: "<file>",
    about: "mesh networks; absent file: none",
    default: "./etc/istio/config/meshNetworks",
  },
  { name: "domain", value: "<domain>", about: "DNS domain suffix of the cluster", default: "cluster.local" },
  {
    name: "clusterID",
    value: "<id>",
    about: "ID of the cluster that this istiod is in",
    default: (env) => variables.clusterId.read(env),
  },
  {
    name: "namespace",
    short: "n",
    value: "<namespace>",
    about: "namespace that this istiod is in",
    default: (env) => variables.namespace.read(env),
  },
  { name: "grpcAddr", value: "<addr>", about: "plaintext xDS; empty: not served", default: ":15010" },
  { name: "secureGRPCAddr", value: "<addr>", about: "xDS and CA over TLS; empty: not served", default: ":15012" },
  { name: "httpAddr", value: "<addr>", about: "readiness and debug", default: ":8080" },
  {
    name: "httpsAddr",
    value: "<addr>",
    about: "admission webhooks",
    default: ":15017",
    noEffect: "admission webhooks are not served yet",
  },
  { name: "monitoringAddr", value: "<addr>", about: "metrics; empty: on --httpAddr", default: ":15014" },
  { name: "shutdownDuration", value: "<duration>", about: "time to end gracefully", default: "10s" },
  {
    name: "keepaliveInterval",
    value: "<duration>",
    about: "a connection is pinged after so long (and so often)",
    default: (env) => variables.keepaliveInterval.read(env),
  },
  {
    name: "keepaliveTimeout",
    value: "<duration>",
    about: "and ended if nothing comes for so long after it",
    default: (env) => variables.keepaliveTimeout.read(env),
  },
  {
    name: "keepaliveMaxServerConnectionAge",
    value: "<duration>",
    about: "a connection is told to end after so long, give or take a tenth, and ended 10s later; 0s: never",
    default: "0s",
  },
  {
    name: "tlsCertFile",
    value: "<file>",
    about: "certificate of the TLS servers, reloaded when the file changes; empty: issued by the CA",
    default: "",
  },
  { name: "tlsKeyFile", value: "<file>", about: "key of --tlsCertFile, reloaded with it", default: "" },
  {
    name: "caCertFile",
    value: "<file>",
    about: "root certificates that verify clients in addition to the CA's own, reloaded when the file changes",
    default: "",
  },
  {
    name: "tls-min-version",
    value: "<version>",
    about: "lowest TLS version of the TLS servers: 1.2 or 1.3",
    default: "1.2",
  },
  {
    name: "tls-cipher-suites",
    value: "<names>",
    about:
      "cipher suites of the TLS servers for TLS 1.2, by their names in Go, separated by commas; empty: the defaults",
    default: "",
  },
  { name: "profile", value: "[bool]", about: "profiles may be taken at /debug/pprof/", default: true },
  { name: "registries", value: "<names>", about: "service registries", default: "Kubernetes", noEffect: noApiServer },
  { name: "kubeconfig", value: "<file>", about: "access to the API server", default: "", noEffect: noApiServer },
  {
    name: "kubernetesApiQPS",
    value: "<number>",
    about: "requests a second to the API server",
    default: "80",
    noEffect: noApiServer,
  },
  {
    name: "kubernetesApiBurst",
    value: "<number>",
    about: "burst of requests to the API server",
    default: "160",
    noEffect: noApiServer,
  },
  {
    name: "clusterRegistriesNamespace",
    value: "<namespace>",
    about: "namespace of the Secrets of remote clusters",
    default: "",
    noEffect: "remote clusters are named by --clusterDir",
  },
  {
    name: "clusterAliases",
    value: "<alias=id>",
    about: "other names of clusters",
    default: "",
    noEffect: "aliases of clusters are not implemented yet",
  },
  {
    name: "cniNamespace",
    value: "<namespace>",
    about: "namespace of the CNI plugin",
    default: "",
    noEffect: "the untaint controller is not implemented yet",
  },
  {
    name: "log_output_level",
    value: "<levels>",
    about: "what is logged: a level, or scope:level,…; levels are none, fatal, error, warn, info and debug",
    default: "info",
  },
  {
    name: "log_stacktrace_level",
    value: "<levels>",
    about: "from which level on lines have a stack, in the same form",
    default: "none",
  },
  {
    name: "log_caller",
    value: "<scopes>",
    about: "scopes whose lines say where they were written, by commas; all: every one",
    default: "",
  },
  { name: "log_as_json", value: "[bool]", about: "lines as JSON; false: in columns, for people", default: true },
  {
    name: "log_target",
    value: "<path>",
    about: "where lines go: stdout, stderr or a file; repeatable",
    repeated: true,
    default: ["stdout"],
  },
  {
    name: "ctrlz_address",
    value: "<host>",
    about: "where ControlZ listens, by which logs are switched; it answers this machine only",
    default: "localhost",
  },
  { name: "ctrlz_port", value: "<port>", about: "port of ControlZ; 0: any that is free", default: "9876" },
  { name: "readyFile", value: "<file>", about: "written when the first full state is served", default: "" },
  {
    name: "prepareLimit",
    value: "<duration>",
    about:
      "most time to compute, before it is ready, what the proxies of the mesh's Pods will ask for; 0s: only when they ask",
    default: "30s",
  },
  {
    name: "caDir",
    value: "<dir>",
    about: "where a self-signed root is kept; made if absent; empty: no CA unless plugged in by ROOT_CA_DIR",
    default: "",
  },
  {
    name: "tokensDir",
    value: "<dir>",
    about:
      "bearer tokens that are accepted without Kubernetes: the file NAMESPACE/SERVICEACCOUNT holds one, of at least 16 characters",
    default: "",
  },
] as const satisfies readonly Flag[];

/** The values of the flags, by name. */
export type FlagValues = {
  readonly [F in (typeof flags)[number] as Property<F["name"]>]: F extends { readonly repeated: true }
    ? readonly string[]
    : F extends { readonly default: boolean }
      ? boolean
      : string;
};

/** The property that the command line parser makes of a flag's name. */
type Property<N extends string> = N extends `${infer A}-${infer B}` ? `${A}${Capitalize<Property<B>>}` : N;

function propertyOf(name: string): string {
  return name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** The flags as options of the command line parser. */
export function options(env: NodeJS.ProcessEnv, only: readonly string[] = flags.map(({ name }) => name)): Option[] {
  return flags
    .filter(({ name }) => only.includes(name))
    .map((flag: Flag) => {
      const option = new Option(
        `${flag.short ? `-${flag.short}, ` : ""}--${flag.name}${flag.value ? ` ${flag.value}` : ""}`,
        aboutFlag(flag),
      );
      if (flag.repeated)
        option.argParser((value: string, before: readonly string[]) => [
          ...(before === flag.default ? [] : before),
          value,
        ]);
      if (typeof flag.default === "boolean") option.preset("true").argParser((value) => truth(flag.name, value));
      return option.default(defaultOf(flag, env));
    });
}

/** Returns the defaults of all flags, over which a program that embeds istiod sets others. */
export function flagDefaults(env: NodeJS.ProcessEnv): FlagValues {
  return Object.fromEntries(flags.map((flag) => [propertyOf(flag.name), defaultOf(flag, env)])) as FlagValues;
}

/** Describes a flag, with the reason if it has no effect. */
export function aboutFlag({ about, noEffect }: Pick<Flag, "about" | "noEffect">): string {
  return noEffect === undefined ? about : `${about}; no effect: ${noEffect}`;
}

/**
 * Returns a sentence for each flag that is given and has no effect. One that is given empty asks for nothing.
 *
 * @param given whether the command line has the flag
 */
export function ineffectiveFlags(values: FlagValues, given: (property: string) => boolean): readonly string[] {
  return flags.flatMap((flag: Flag) => {
    const property = propertyOf(flag.name);
    const value = String(values[property as keyof FlagValues]);
    return flag.noEffect === undefined || value === "" || !given(property)
      ? []
      : [`--${flag.name} ${value} has no effect: ${flag.noEffect}`];
  });
}

function defaultOf(flag: Flag, env: NodeJS.ProcessEnv): string | boolean | readonly string[] | undefined {
  return typeof flag.default === "function" ? flag.default(env) : flag.default;
}

function truth(flag: string, value: string): boolean {
  const parsed = parseBoolean(value);
  if (parsed === undefined) throw new Error(`--${flag} ${value}: expected true or false`);
  return parsed;
}

/** A host and port to listen on. */
export interface ListenAddress {
  readonly host: string | undefined;
  readonly port: number;
}

/**
 * Reads `host:port`, `:port` or `[v6]:port`; empty is undefined.
 *
 * @throws Error that names the flag where the value is none of these.
 */
export function listenAddress(flag: string, value: string): ListenAddress | undefined {
  if (value === "") return undefined;
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(value);
  const port = Number(match?.[3]);
  if (!match || port > 65535) throw new Error(`--${flag} ${value}: expected host:port, :port or [v6]:port`);
  return { host: match[1] ?? (match[2] || undefined), port };
}

/**
 * Reads a duration in any of Go's forms, such as `10s`, `1m30s`, `1.5h`, `250us` or `0`, in milliseconds. What is
 * negative is 0, as Go's timers take it.
 *
 * @throws Error that names the flag where the value is not a duration.
 */
export function duration(flag: string, value: string): number {
  const nanoseconds = parseGoDuration(value);
  if (nanoseconds === undefined) throw new Error(`--${flag} ${value}: expected a duration such as 10s`);
  return Math.max(0, Number(nanoseconds) / 1e6);
}
