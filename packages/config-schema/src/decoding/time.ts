const rfc3339 = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:[.,]\d+)?(?:Z|[+-](\d{2}):(\d{2}))$/;

/** Reports whether a text is a time of RFC 3339 whose day, hour and offset exist, as Go's `time.Parse` reads it. */
export function isTime(text: string): boolean {
  const parts = rfc3339.exec(text)?.slice(1).map(Number);
  if (parts === undefined) return false;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, offsetHour = 0, offsetMinute = 0] = parts.map(
    (part) => (Number.isNaN(part) ? 0 : part),
  );
  if (month < 1 || month > 12 || day < 1 || day > daysOf(year, month)) return false;
  return hour < 24 && minute < 60 && second < 60 && offsetHour <= 24 && offsetMinute <= 60;
}

/** Returns milliseconds since the Unix epoch; undefined if a text is not a time (see {@link isTime}). */
export function timeOf(text: string): number | undefined {
  return serverTime(text) ?? anyTime(text);
}

/** The form of times that API servers write: in UTC, in whole seconds. */
const serverForm = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;

/** Reads a time in the form that API servers write, except for the last days of months. */
function serverTime(text: string): number | undefined {
  return serverForm.test(text) ? Date.parse(text) : undefined;
}

function anyTime(text: string): number | undefined {
  if (!isTime(text)) return undefined;
  const [local = "", sign, hours, minutes] = /^(.*?)(?:Z|([+-])(\d{2}):(\d{2}))$/.exec(text)?.slice(1) ?? [];
  const offset = sign === undefined ? 0 : (Number(hours) * 60 + Number(minutes)) * 60_000;
  return Date.parse(`${local.replace(",", ".")}Z`) - (sign === "-" ? -offset : offset);
}

function daysOf(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}
