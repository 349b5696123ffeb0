import { html, type Html } from "./html.js";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
export const day = 24 * hour;

/** Formats a duration with one or two units: `12ms`, `3.4s`, `5m`, `2h 5m`, `3d 4h`, `214d`. */
export function duration(ms: number): string {
  if (ms < second) return `${Math.round(ms)}ms`;
  if (ms < 10 * second) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`;
  if (ms < minute) return `${Math.floor(ms / second)}s`;
  if (ms < hour) return `${Math.floor(ms / minute)}m`;
  if (ms < day) return twoUnits(ms, hour, "h", minute, "m");
  return ms < 10 * day ? twoUnits(ms, day, "d", hour, "h") : `${Math.floor(ms / day)}d`;
}

function twoUnits(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)}${largeName}${rest === 0 ? "" : ` ${rest}${smallName}`}`;
}

/** Renders a time relative to another, with the exact time in UTC. */
export function relativeTime(at: number, now: number): Html {
  const text = at > now ? `in ${duration(at - now)}` : now - at < second ? "now" : `${duration(now - at)} ago`;
  return html`<time datetime="${isoTime(at)}" title="${isoTime(at)}">${text}</time>`;
}

/** Formats a day in UTC, such as `2027-03-01`. */
export function dayOf(at: number): string {
  return isoTime(at).slice(0, 10);
}

export function isoTime(at: number): string {
  return new Date(at).toISOString();
}
