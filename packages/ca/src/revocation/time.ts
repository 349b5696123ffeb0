import { type DerReader, DerError } from "../der/reader.js";
import { tags } from "../der/tags.js";

const pattern = /^(\d{2}|\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})Z$/;

/**
 * Reads a time of RFC 5280 §4.1.2.5: UTCTime for the years 1950 to 2049, GeneralizedTime for others, with seconds, in
 * UTC.
 *
 * @returns milliseconds since the epoch
 * @throws DerError
 */
export function readTime(reader: DerReader, what: string): number {
  const isGeneral = reader.nextTag === tags.generalizedTime;
  const text = reader.contents(isGeneral ? tags.generalizedTime : tags.utcTime, what).toString("latin1");
  const [, year = "", ...rest] = pattern.exec(text) ?? [];
  if (year.length !== (isGeneral ? 4 : 2)) throw new DerError(`${what}: not a time in UTC with seconds`);
  const [month = 0, day = 0, hour = 0, minute = 0, second = 0] = rest.map(Number);
  const fullYear = isGeneral ? Number(year) : Number(year) + (Number(year) < 50 ? 2000 : 1900);
  const time = Date.UTC(fullYear, month - 1, day, hour, minute, second);
  const parsed = new Date(time);
  const isReal = parsed.getUTCMonth() === month - 1 && parsed.getUTCDate() === day && hour < 24 && minute < 60;
  if (!isReal) throw new DerError(`${what}: not a time`);
  return time;
}
