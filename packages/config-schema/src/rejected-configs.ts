/**
 * Istio's counter of rejected objects, by kind in lower case and `namespace/name`. Servers of Gateways that conflict
 * with others of their proxy count in it too.
 */
export const rejectedConfigs = {
  name: "pilot_total_rejected_configs",
  help: "Objects that are not valid, and Gateways of which a server conflicts with another of its proxy.",
  labels: ["type", "name"],
} as const;
