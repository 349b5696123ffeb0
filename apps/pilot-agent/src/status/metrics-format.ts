/** Formats of metrics: Prometheus's text format, or OpenMetrics, which has exemplars. */
export type MetricsFormat = "text" | "openmetrics";

export const OPEN_METRICS_TYPE = "application/openmetrics-text";
const OPEN_METRICS_VERSIONS = ["1.0.0", "0.0.1"];

/** Header `accept` of scrapes of applications, by the format of the merged metrics. */
export const acceptOf: Readonly<Record<MetricsFormat, string>> = {
  text: "text/plain;version=0.0.4",
  openmetrics: `${OPEN_METRICS_TYPE};version=1.0.0;q=0.6,${OPEN_METRICS_TYPE};version=0.0.1;q=0.5,text/plain;version=0.0.4;q=0.4`,
};

interface MediaRange {
  readonly type: string;
  readonly version: string | undefined;
  readonly quality: number;
}

/** Returns the version of OpenMetrics that a scraper prefers to the text format (RFC 9110 §12.5.1), if any. */
export function acceptedOpenMetrics(accept: string | undefined): string | undefined {
  const ranges = (accept ?? "").split(",").map(mediaRange);
  const text = Math.max(0, ...ranges.filter(({ type }) => isText(type)).map(({ quality }) => quality));
  const [best] = ranges
    .map(({ version = "1.0.0", ...range }) => ({ ...range, version }))
    .filter(({ type, version }) => type === OPEN_METRICS_TYPE && OPEN_METRICS_VERSIONS.includes(version))
    .sort((a, b) => b.quality - a.quality);
  return best !== undefined && best.quality > 0 && best.quality >= text ? best.version : undefined;
}

/** Returns the format of a response by its media type. */
export function formatOf(contentType: string | null): MetricsFormat {
  return mediaRange(contentType ?? "").type === OPEN_METRICS_TYPE ? "openmetrics" : "text";
}

function isText(type: string): boolean {
  return type === "text/plain" || type === "text/*" || type === "*/*";
}

function mediaRange(text: string): MediaRange {
  const [type = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
  const value = (name: string): string | undefined =>
    parameters.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1);
  const quality = Number(value("q") ?? "1");
  return { type, version: value("version"), quality: quality >= 0 && quality <= 1 ? quality : 0 };
}
