/** A workload's locality (`envoy.config.core.v3.Locality`). */
export interface Locality {
  readonly region?: string;
  readonly zone?: string;
  readonly subZone?: string;
}

/** Labels that override the platform's locality: the current one and the deprecated one. */
const LOCALITY_LABELS = ["topology.istio.io/locality", "istio-locality"];

/** Returns the locality label as `region/zone/subzone`. Label values cannot contain `/`, so dots may replace it. */
export function localityLabel(labels: Readonly<Record<string, string>>): string {
  const label = LOCALITY_LABELS.map((name) => labels[name]).find((value) => value !== undefined) ?? "";
  return label.includes("/") ? label : label.replaceAll(".", "/");
}

/** Parses `region/zone/subzone`, of which later parts may be absent. */
export function parseLocality(text: string): Locality {
  const [region = "", zone = "", subZone = ""] = text.split("/");
  return { ...(region && { region }), ...(zone && { zone }), ...(subZone && { subZone }) };
}
