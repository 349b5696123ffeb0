import { collectDefaultMetrics, Gauge, type Registry } from "prom-client";

/** Metrics of the process itself: Istio's own by their names, and Node's defaults. */
export function processMetrics(registry: Registry, version: string): void {
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  new Gauge({ name: "pilot_info", help: "Version of this istiod.", labelNames: ["version"], registers }).set({ version }, 1);
  new Gauge({ name: "istio_build", help: "Build information.", labelNames: ["component", "tag"], registers }).set({ component: "pilot", tag: version }, 1);
  const started = Date.now();
  new Gauge({
    name: "istiod_uptime_seconds",
    help: "Seconds since this istiod started.",
    registers,
    collect() {
      this.set((Date.now() - started) / 1000);
    },
  });
}
