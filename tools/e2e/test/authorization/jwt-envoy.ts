import { spawn } from "node:child_process";
import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@istiod/e2e";

const types = "type.googleapis.com/envoy.extensions.filters.";
const adminPort = 15_000;
const port = 8080;

export interface JwtEnvoyOptions {
  readonly binary: string;
  readonly address: string;
  /** The key set of each rule. Requests choose the rule by the path `/N`. */
  readonly keySets: readonly string[];
  readonly issuer: string;
  readonly audiences: readonly string[];
}

export interface JwtEnvoy {
  /** Returns the status of a request with a token for a rule. */
  status(rule: number, token: string): Promise<number>;
  close(): Promise<void>;
}

/** Starts an Envoy whose JWT filter has a provider for each key set, as istiod configures them. */
export async function startJwtEnvoy(options: JwtEnvoyOptions): Promise<JwtEnvoy> {
  const directory = await mkdtemp(join(tmpdir(), "istiod-jwt-envoy-"));
  const file = join(directory, "bootstrap.json");
  await writeFile(file, JSON.stringify(bootstrap(options)));
  const log = join(directory, "log");
  const output = await open(log, "w");
  const args = ["-c", file, "-l", "error", "--disable-hot-restart", "--concurrency", "1"];
  const envoy = spawn(options.binary, args, { cwd: directory, stdio: ["ignore", output.fd, output.fd] });
  const exited = new Promise<void>((resolve) => void envoy.once("exit", () => resolve()));
  const close = async (): Promise<void> => {
    envoy.kill("SIGKILL");
    await exited;
    await output.close();
    await rm(directory, { recursive: true, force: true });
  };
  const isLive = async (): Promise<boolean> =>
    envoy.exitCode !== null ||
    (await (await fetch(`http://${options.address}:${adminPort}/ready`)).text()).startsWith("LIVE");
  await eventually("Envoy is live", isLive, 60_000);
  if (envoy.exitCode !== null) {
    const reason = await readFile(log, "utf8");
    await close();
    throw new Error(`Envoy ended: ${reason.slice(0, 3000)}`);
  }
  const status = async (rule: number, token: string): Promise<number> =>
    (await fetch(`http://${options.address}:${port}/${rule}`, { headers: { authorization: `Bearer ${token}` } }))
      .status;
  return { status, close };
}

function bootstrap({ address, keySets, issuer, audiences }: JwtEnvoyOptions): object {
  const at = (port_value: number): object => ({ address: { socket_address: { address, port_value } } });
  const jwt = {
    "@type": `${types}http.jwt_authn.v3.JwtAuthentication`,
    providers: Object.fromEntries(
      keySets.map((inline_string, n) => [
        `origins-${n}`,
        { issuer, audiences, local_jwks: { inline_string }, payload_in_metadata: "payload" },
      ]),
    ),
    rules: keySets.map((_, n) => ({
      match: { path: `/${n}` },
      requires: { requires_any: { requirements: [{ provider_name: `origins-${n}` }, { allow_missing: {} }] } },
    })),
  };
  const manager = {
    "@type": `${types}network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: "jwt",
    http_filters: [
      { name: "jwt", typed_config: jwt },
      { name: "router", typed_config: { "@type": `${types}http.router.v3.Router` } },
    ],
    route_config: {
      virtual_hosts: [
        { name: "all", domains: ["*"], routes: [{ match: { prefix: "/" }, direct_response: { status: 200 } }] },
      ],
    },
  };
  const filterChains = [{ filters: [{ name: "http", typed_config: manager }] }];
  return {
    node: { id: "jwt", cluster: "jwt" },
    admin: at(adminPort),
    static_resources: { listeners: [{ name: "http", ...at(port), filter_chains: filterChains }] },
  };
}
