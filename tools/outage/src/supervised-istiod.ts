import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort, type IstiodProcess, startIstiod } from "@istiod/bench";
import type { Address } from "@istiod/xds-server/testing";

/** Milliseconds before an istiod that exited is started again. */
const restartMs = 500;

/** An istiod that is started again when it ends, as by a kubelet, on the same ports. */
export class SupervisedIstiod {
  readonly xds: Address;
  /** xDS over TLS. The server's certificate is not verified. */
  readonly secureXds: Address;
  readonly #http: string;
  readonly #kubeconfigFile: string;
  readonly #directory: string;
  #process: IstiodProcess | undefined;
  #isStopped = false;
  #starting: Promise<void> = Promise.resolve();
  /** Messages of startups that failed. */
  readonly failedStartups: string[] = [];
  /** Number of failed startups before the last kill. */
  #failuresBefore = 0;

  private constructor(first: IstiodProcess, directory: string, securePort: number) {
    this.xds = first.xds;
    this.secureXds = { host: "127.0.0.1", port: securePort, tls: { rejectUnauthorized: false } };
    this.#http = first.http;
    this.#process = first;
    this.#directory = directory;
    this.#kubeconfigFile = kubeconfigIn(directory);
  }

  /** Starts istiod with a kubeconfig, and waits until it is ready. */
  static async start(kubeconfig: string): Promise<SupervisedIstiod> {
    const directory = await mkdtemp(join(tmpdir(), "istiod-outage-"));
    try {
      const file = kubeconfigIn(directory);
      await writeFile(file, kubeconfig, { mode: 0o600 });
      const securePort = await freePort();
      const first = await startIstiod({ kubeconfig: file, flags: secureFlags(securePort) });
      return new SupervisedIstiod(first, directory, securePort);
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
  }

  /** The process, if it is ready. */
  get process(): IstiodProcess | undefined {
    return this.#process;
  }

  /**
   * Kills the process with SIGKILL, and starts it again. Returns when the next one is starting.
   *
   * @param env additional environment variables of the next one
   */
  async kill(env: Readonly<Record<string, string>> = {}): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    this.#failuresBefore = this.failedStartups.length;
    await running?.kill();
    this.#starting = this.#restart(env);
  }

  /** Returns the state of `/ready`: its body, or undefined unless it answers with 200. */
  async ready(): Promise<string | undefined> {
    try {
      const response = await fetch(`${this.#http}/ready`, { signal: AbortSignal.timeout(10_000) });
      const body = await response.text();
      return response.status === 200 ? body : undefined;
    } catch {
      return undefined;
    }
  }

  /** Reports whether the process that was started last answers over HTTP, or has failed to start. */
  async hasStarted(): Promise<boolean> {
    if (this.failedStartups.length > this.#failuresBefore) return true;
    return fetch(`${this.#http}/ready`, { signal: AbortSignal.timeout(10_000) }).then(
      async (response) => (await response.text(), true),
      () => false,
    );
  }

  /** Stops istiod. A startup in progress is waited for, so the cluster must be reachable. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#starting;
    await this.#process?.stop();
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #restart(env: Readonly<Record<string, string>>): Promise<void> {
    const ports = [this.xds.port, Number(new URL(this.#http).port)] as const;
    const flags = secureFlags(this.secureXds.port);
    while (!this.#isStopped) {
      try {
        this.#process = await startIstiod({ kubeconfig: this.#kubeconfigFile, ports, env, flags });
        return;
      } catch (error) {
        this.failedStartups.push(error instanceof Error ? error.message : String(error));
        await wait(restartMs);
      }
    }
  }
}

const secureFlags = (port: number): Readonly<Record<string, string>> => ({ secureGRPCAddr: `127.0.0.1:${port}` });
const kubeconfigIn = (directory: string): string => join(directory, "kubeconfig");
