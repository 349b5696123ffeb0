import { AgentError } from "../errors.js";
import { type Admin, readStats } from "./admin.js";

const STATES = ["LIVE", "DRAINING", "PRE_INITIALIZING", "INITIALIZING"];

/**
 * Whether Envoy serves: it has had clusters and listeners from istiod, is live, and its workers run. What was once true
 * is not asked again, since Envoy does not go back; that it still answers is seen by the probe passing through it.
 */
export class EnvoyReadiness {
  readonly #admin: Admin;
  #configured = false;
  #live = false;

  constructor(admin: Admin) {
    this.#admin = admin;
  }

  /** @throws AgentError `envoy` saying what is missing */
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
    const refusedClusters = count("cluster_manager.cds.update_rejected");
    const refusedListeners = count("listener_manager.lds.update_rejected");
    this.#configured = clusters > 0 && listeners > 0;
    if (this.#configured) return;
    const counts = `clusters: ${clusters} accepted, ${refusedClusters} refused; listeners: ${listeners} accepted, ${refusedListeners} refused`;
    if (refusedClusters + refusedListeners > 0)
      throw new AgentError("envoy", `Envoy refuses the configuration from istiod (${counts})`);
    if (clusters + listeners === 0)
      throw new AgentError("envoy", `no configuration from istiod yet; is it running? (${counts})`);
    throw new AgentError("envoy", `only a part of the configuration from istiod yet (${counts})`);
  }

  async #checkLive(): Promise<void> {
    const stats = await readStats(this.#admin, String.raw`^(server\.state|listener_manager\.workers_started)$`);
    const state = stats.get("server.state");
    if (state !== 0)
      throw new AgentError(
        "envoy",
        `Envoy is not live: its state is ${state === undefined ? "not known yet" : (STATES[state] ?? state)}`,
      );
    if (stats.get("listener_manager.workers_started") !== 1)
      throw new AgentError("envoy", "Envoy's workers have not started yet");
    this.#live = true;
  }
}
