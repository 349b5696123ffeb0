import { Counter, type Registry } from "prom-client";

const name = "pilot_total_rejected_configs";

/** Istio's counter of what had to be set aside, by kind in lower case and by `namespace/name`. Several count in it. */
export function rejectedConfigs(registry: Registry): Counter<"type" | "name"> {
  const known = registry.getSingleMetric(name) as Counter<"type" | "name"> | undefined;
  return (
    known ??
    new Counter({
      name,
      help: "Objects that are not valid, and Gateways of which a server conflicts with another of its proxy.",
      labelNames: ["type", "name"],
      registers: [registry],
    })
  );
}
