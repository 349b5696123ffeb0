import type { Duration } from "@bufbuild/protobuf/wkt";
import { duration } from "../envoy/duration.js";

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** A duration as Go writes one (`1m30s`); undefined for none, and for what is none. */
export function goDuration(text: string | undefined): Duration | undefined {
  if (text === undefined) return undefined;
  if (text === "0") return duration(0);
  const whole = /^([+-]?)((?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+$/.exec(text);
  if (whole === null) return undefined;
  let ms = 0;
  for (const [, amount, unit = ""] of text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)/g))
    ms += Number(amount) * (unitMs[unit] ?? 0);
  return duration(text.startsWith("-") ? -ms : ms);
}
