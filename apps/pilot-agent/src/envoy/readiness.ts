import { AgentError } from "../errors.js";
import { type Admin, readStats } from "./admin.js";

const STATES = ["LIVE", "DRAINING", "PRE_INITIALIZING", "INITIALIZING"];

/**
 * Envoy's readiness: it has received clusters and listeners from istiod, is live, and its workers have started. A
 * condition that was met is not checked again.
 */
export class EnvoyReadiness {
  readonly #admin: Admin;
  #configured = false;
  #live = false;

  constructor(admin: Admin) {
    this.#admin = admin;
  }

  /** @throws AgentError `envoy` that names the unmet condition */
  async check(): Promise<void> {
    if (!this.#configured) await this.#checkConfigured();
    if (!this.#live) await this.#checkLive();
  }

  async #checkConfigured(): Promise<void> {
    const stats = await readStats(
      this.#admin,
      String.raw`^(cluster_manager\.cds|listener_manager\.lds)\.(update_success|update_rejected)$`,
    );
    const count = (name: string): number => stats.get(name) ?? 0;
    const clusters = count("cluster_manager.cds.update_success");
    const listeners = count("listener_manager.lds.update_success");
    const rejectedClusters = count("cluster_manager.cds.update_rejected");
    const rejectedListeners = count("listener_manager.lds.update_rejected");
    this.#configured = clusters > 0 && listeners > 0;
    if (this.#configured) return;
    const counts = `cds updates: ${clusters} successful, ${rejectedClusters} rejected; lds updates: ${listeners} successful, ${rejectedListeners} rejected`;
    if (rejectedClusters + rejectedListeners > 0) throw new AgentError("envoy", `config rejected by Envoy (${counts})`);
    if (clusters + listeners === 0)
      throw new AgentError("envoy", `config not received from XDS server (is Istiod running?): ${counts}`);
    throw new AgentError("envoy", `config received from XDS server, but not all of it: ${counts}`);
  }

  async #checkLive(): Promise<void> {
    const stats = await readStats(this.#admin, String.raw`^(server\.state|listener_manager\.workers_started)$`);
    const state = stats.get("server.state");
    if (state !== 0)
      throw new AgentError(
        "envoy",
        `server is not live, current state is: ${state === undefined ? "unknown" : (STATES[state] ?? state)}`,
      );
    if (stats.get("listener_manager.workers_started") !== 1)
      throw new AgentError("envoy", "workers have not yet started");
    this.#live = true;
  }
}
