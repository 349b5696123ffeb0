import { spawn } from "node:child_process";
import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@istiod/e2e";
import type { Callers, Identity } from "./callers.js";
import { type GeneratedFilters, type NamedFilter, ports } from "./case-mesh.js";

/** An Envoy with the generated filters of many workloads, each at an address of its own. */
export interface PolicyEnvoy {
  close(): Promise<void>;
}

export interface PolicyEnvoyOptions {
  readonly binary: string;
  /** Address of the admin interface, on port 15000. */
  readonly admin: string;
  readonly server: Identity;
  readonly callers: Pick<Callers, "root">;
  readonly workloads: readonly { readonly address: string; readonly filters: GeneratedFilters }[];
}

const types = "type.googleapis.com/envoy.extensions.";
const rbacType = `${types}filters.http.rbac.v3.RBAC`;

/** Starts an Envoy. @throws Error with its log if it rejects the configuration */
export async function startPolicyEnvoy(options: PolicyEnvoyOptions): Promise<PolicyEnvoy> {
  const directory = await mkdtemp(join(tmpdir(), "istiod-policy-envoy-"));
  const file = join(directory, "bootstrap.json");
  await writeFile(file, JSON.stringify(bootstrap(options)));
  const log = join(directory, "log");
  const output = await open(log, "w");
  const args = ["-c", file, "-l", "error", "--disable-hot-restart", "--concurrency", "1"];
  const envoy = spawn(options.binary, args, { cwd: directory, stdio: ["ignore", output.fd, output.fd] });
  const exited = new Promise<void>((resolve) => void envoy.once("exit", () => resolve()));
  const atExit = (): void => void envoy.kill("SIGKILL");
  process.once("exit", atExit);
  const close = async (): Promise<void> => {
    process.off("exit", atExit);
    envoy.kill("SIGKILL");
    await exited;
    await output.close();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await eventually(
      "Envoy is live",
      async () => {
        if (envoy.exitCode !== null) return true;
        return (await (await fetch(`http://${options.admin}:15000/ready`)).text()).startsWith("LIVE");
      },
      60_000,
    );
    if (envoy.exitCode !== null) throw new Error(`Envoy ended: ${(await readFile(log, "utf8")).slice(0, 3000)}`);
    return { close };
  } catch (error) {
    await close();
    throw error;
  }
}

function bootstrap(options: PolicyEnvoyOptions): object {
  return {
    node: { id: "policies", cluster: "policies" },
    admin: { address: socket(options.admin, 15000) },
    static_resources: {
      listeners: [httpListener(options), ...options.workloads.map((each, n) => tcpListener(options, each, n))],
    },
  };
}

function socket(address: string, port: number): object {
  return { socket_address: { address, port_value: port } };
}

/** Returns a listener with the same filters for TLS with a client certificate, and for plaintext. */
function listener(
  { server, callers }: PolicyEnvoyOptions,
  name: string,
  addresses: readonly string[],
  port: number,
  filters: readonly object[],
): object {
  const [first = "", ...others] = addresses;
  const context = {
    "@type": `${types}transport_sockets.tls.v3.DownstreamTlsContext`,
    require_client_certificate: true,
    common_tls_context: {
      tls_certificates: [
        { certificate_chain: { inline_string: server.cert }, private_key: { inline_string: server.key } },
      ],
      validation_context: { trusted_ca: { inline_string: callers.root } },
    },
  };
  const inspector = { "@type": `${types}filters.listener.tls_inspector.v3.TlsInspector` };
  return {
    name,
    address: socket(first, port),
    additional_addresses: others.map((address) => ({ address: socket(address, port) })),
    listener_filters: [{ name: "tls", typed_config: inspector }],
    filter_chains: [
      {
        filter_chain_match: { transport_protocol: "tls" },
        transport_socket: { name: "tls", typed_config: context },
        filters,
      },
      { filter_chain_match: { transport_protocol: "raw_buffer" }, filters },
    ],
  };
}

/** Returns one listener for all workloads. A route for each has the workload's RBAC rules. */
function httpListener(options: PolicyEnvoyOptions): object {
  const [{ filters } = { filters: undefined }] = options.workloads;
  const manager = { ...filters?.manager };
  for (const name of ["httpFilters", "routeConfig", "accessLog", "tracing", "rds", "statPrefix"]) delete manager[name];
  const jwt = filters?.http.find(({ name }) => name === "envoy.filters.http.jwt_authn");
  const slots = ["custom-0", "custom-1", "audit", "deny", "allow"];
  const rbac = (name: string): object => ({ name, typed_config: { "@type": rbacType } });
  const metadata = {
    name: "sample",
    typed_config: {
      "@type": `${types}filters.http.header_to_metadata.v3.Config`,
      request_rules: [
        {
          header: "x-sample-role",
          on_header_present: { metadata_namespace: "envoy.filters.http.sample", key: "role", type: "STRING" },
        },
      ],
    },
  };
  const router = { name: "router", typed_config: { "@type": `${types}filters.http.router.v3.Router` } };
  const seen = [
    { header: { key: "x-seen-path", value: "%REQ(:PATH)%" } },
    { header: { key: "x-seen-rbac", value: "%DYNAMIC_METADATA(envoy.filters.http.rbac)%" } },
    { header: { key: "x-seen-details", value: "%RESPONSE_CODE_DETAILS%" } },
  ];
  const any = { status_code_filter: { comparison: { op: "GE", value: { default_value: 0, runtime_key: "none" } } } };
  const config = {
    ...manager,
    stat_prefix: "policies",
    local_reply_config: { mappers: [{ filter: any, headers_to_add: seen }] },
    http_filters: [
      metadata,
      ...slots.slice(0, 2).map(rbac),
      ...(jwt === undefined ? [] : [{ name: jwt.name, typed_config: jwt.typedConfig }]),
      ...slots.slice(2).map(rbac),
      router,
    ],
    route_config: {
      virtual_hosts: [{ name: "all", domains: ["*"], routes: [...options.workloads.map(routeOf), fallback] }],
    },
  };
  const filter = { name: "http", typed_config: config };
  return listener(
    options,
    "http",
    options.workloads.map(({ address }) => address),
    ports.http,
    [filter],
  );
}

const fallback = { match: { prefix: "/" }, direct_response: { status: 404 } };

function routeOf({ filters }: PolicyEnvoyOptions["workloads"][number], n: number): object {
  const overrides = filters.http.flatMap(({ name, typedConfig }) =>
    name === "envoy.filters.http.rbac" ? [[slotOf(typedConfig), typedConfig] as const] : [],
  );
  const custom = overrides.filter(([slot]) => slot === "custom");
  const named = overrides.map(
    ([slot, config]) =>
      [slot === "custom" ? `custom-${custom.findIndex(([, c]) => c === config)}` : slot, config] as const,
  );
  return {
    match: { prefix: "", headers: [{ name: "x-case", string_match: { exact: String(n) } }] },
    direct_response: { status: 200 },
    typed_per_filter_config: Object.fromEntries(
      named.map(([slot, { "@type": _, ...rbac }]) => [slot, { "@type": `${rbacType}PerRoute`, rbac }]),
    ),
  };
}

interface Rules {
  readonly action?: string;
  readonly policies?: object;
}

function slotOf(config: NamedFilter["typedConfig"]): string {
  const { rules, shadowRules, shadowRulesStatPrefix } = config as unknown as {
    readonly rules?: Rules;
    readonly shadowRules?: Rules;
    readonly shadowRulesStatPrefix?: string;
  };
  const isBad = Object.keys(rules?.policies ?? {}).some((name) => name.endsWith("-deny-due-to-bad-CUSTOM-action"));
  if (shadowRulesStatPrefix === "istio_ext_authz_" || isBad) return "custom";
  return { LOG: "audit", DENY: "deny" }[(rules ?? shadowRules)?.action ?? ""] ?? "allow";
}

/** Returns the listener of a workload that echoes what its RBAC filters let through. */
function tcpListener(
  options: PolicyEnvoyOptions,
  { address, filters }: PolicyEnvoyOptions["workloads"][number],
  n: number,
): object {
  const rbac = filters.tcp.filter(({ name }) => name === "envoy.filters.network.rbac");
  const echo = { name: "echo", typed_config: { "@type": `${types}filters.network.echo.v3.Echo` } };
  return listener(options, `tcp-${n}`, [address], ports.tcp, [
    ...rbac.map(({ name, typedConfig }) => ({ name, typed_config: typedConfig })),
    echo,
  ]);
}
