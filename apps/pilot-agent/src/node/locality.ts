/** Where a workload runs, as Envoy has it. */
export interface Locality {
  readonly region?: string;
  readonly zone?: string;
  readonly subZone?: string;
}

/** The label that overrides what the platform says, and its older name. */
const LOCALITY_LABELS = ["topology.istio.io/locality", "istio-locality"];

/**
 * The locality in a workload's labels with `/` between its parts; labels may not contain that, so dots stand for it
 * where it is absent.
 */
export function localityLabel(labels: Readonly<Record<string, string>>): string {
  const label = LOCALITY_LABELS.map((name) => labels[name]).find((value) => value !== undefined) ?? "";
  return label.includes("/") ? label : label.replaceAll(".", "/");
}

/** Region, zone and sub-zone of `region/zone/subzone`, of which later parts may be absent. */
export function parseLocality(text: string): Locality {
  const [region = "", zone = "", subZone = ""] = text.split("/");
  return { ...(region && { region }), ...(zone && { zone }), ...(subZone && { subZone }) };
}
