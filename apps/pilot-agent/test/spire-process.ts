import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { vi } from "vitest";
import { freePort } from "./fakes.js";

const programs = process.env["SPIRE_BIN_DIR"] ?? "";
const until = { timeout: 60_000, interval: 200 };

/** The reason why SPIRE cannot be started; undefined if it can. */
export const noSpire = ["spire-server", "spire-agent"].every((name) => existsSync(join(programs, name)))
  ? undefined
  : "no SPIRE: set SPIRE_BIN_DIR to a directory with spire-server and spire-agent";

/** A SPIRE server with one agent, whose workloads are the processes of this user. */
export class Spire {
  readonly #directory: string;
  readonly #processes: ChildProcess[] = [];

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Starts both, with an entry for the workload.
   *
   * @param socket path on which the agent serves the Workload API and SDS
   */
  static async start(directory: string, socket: string, workload: string): Promise<Spire> {
    const spire = new Spire(directory);
    try {
      await spire.#start(socket, workload);
      return spire;
    } catch (error) {
      await spire.stop();
      throw error;
    }
  }

  /** Kills both. */
  async stop(): Promise<void> {
    for (const child of this.#processes.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    }
  }

  async #start(socket: string, workload: string): Promise<void> {
    const directory = this.#directory;
    await mkdir(directory, { recursive: true });
    const port = await freePort();
    await writeFile(join(directory, "server.conf"), serverConfig(directory, port));
    this.#run("spire-server", "run", "-config", join(directory, "server.conf"));
    await vi.waitFor(() => this.#server("healthcheck"), until);
    const node = "spiffe://example.org/node";
    const token = /Token: (\S+)/.exec(await this.#server("token", "generate", "-spiffeID", node))?.[1] ?? "";
    const selector = `unix:uid:${process.getuid?.()}`;
    await this.#server("entry", "create", "-parentID", node, "-spiffeID", workload, "-selector", selector);
    await writeFile(join(directory, "bundle.pem"), await this.bundle());
    await writeFile(join(directory, "agent.conf"), agentConfig(directory, port, socket));
    this.#run("spire-agent", "run", "-config", join(directory, "agent.conf"), "-joinToken", token);
    await vi.waitFor(() => access(socket), until);
  }

  /** Returns the root certificates in PEM. */
  bundle(): Promise<string> {
    return this.#server("bundle", "show");
  }

  /** Issues a certificate outside of the agent. */
  async mint(id: string): Promise<{ readonly cert: string; readonly key: string }> {
    const directory = join(this.#directory, "minted");
    await mkdir(directory, { recursive: true });
    await this.#server("x509", "mint", "-spiffeID", id, "-write", directory);
    const [cert, key] = [join(directory, "svid.pem"), join(directory, "key.pem")];
    return { cert: await readFile(cert, "utf8"), key: await readFile(key, "utf8") };
  }

  /** Gives the workload's certificate a DNS name, so that the agent fetches another one. */
  async addName(workload: string, name: string): Promise<void> {
    const shown = await this.#server("entry", "show", "-spiffeID", workload);
    const field = (label: string): string => new RegExp(`^${label}\\s*: (\\S+)`, "m").exec(shown)?.[1] ?? "";
    const entry = ["-entryID", field("Entry ID"), "-parentID", field("Parent ID"), "-selector", field("Selector")];
    await this.#server("entry", "update", ...entry, "-spiffeID", workload, "-dns", name);
  }

  #run(program: string, ...argv: readonly string[]): void {
    this.#processes.push(spawn(join(programs, program), argv, { stdio: "ignore" }));
  }

  async #server(...command: readonly string[]): Promise<string> {
    const flags = ["-socketPath", join(this.#directory, "server.sock")];
    const words = command.findIndex((word) => word.startsWith("-"));
    const at = words < 0 ? command.length : words;
    const argv = [...command.slice(0, at), ...flags, ...command.slice(at)];
    return (await promisify(execFile)(join(programs, "spire-server"), argv)).stdout;
  }
}

const serverConfig = (directory: string, port: number): string => `server {
  bind_address = "127.0.0.1"
  bind_port = "${port}"
  socket_path = "${directory}/server.sock"
  trust_domain = "example.org"
  data_dir = "${directory}/server"
}
plugins {
  DataStore "sql" { plugin_data { database_type = "sqlite3", connection_string = "${directory}/entries.sqlite3" } }
  NodeAttestor "join_token" { plugin_data {} }
  KeyManager "memory" { plugin_data {} }
}
`;

const agentConfig = (directory: string, port: number, socket: string): string => `agent {
  data_dir = "${directory}/agent"
  server_address = "127.0.0.1"
  server_port = "${port}"
  socket_path = "${socket}"
  trust_bundle_path = "${directory}/bundle.pem"
  trust_domain = "example.org"
}
plugins {
  NodeAttestor "join_token" { plugin_data {} }
  KeyManager "memory" { plugin_data {} }
  WorkloadAttestor "unix" { plugin_data {} }
}
`;
