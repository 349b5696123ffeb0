import { stringify } from "yaml";
import type { Level } from "../codes.js";
import type { Message } from "./message.js";

/** Forms in which messages are printed: those of `istioctl analyze`, and a table. */
export const formats = ["log", "json", "yaml", "table"] as const;

export type Format = (typeof formats)[number];

/** Colors of severities in a terminal: bold red and yellow, as `istioctl` has them. */
const colors: Readonly<Record<Level, string>> = { Error: "\u001b[1;31m", Warning: "\u001b[33m", Info: "" };

/** Formats messages, with a line end after the last one. */
export function formatMessages(messages: readonly Message[], format: Format, color = false): string {
  switch (format) {
    case "json":
      return `${JSON.stringify(messages, undefined, "\t")}\n`;
    case "yaml":
      return stringify(messages, { lineWidth: 0 });
    case "log":
      return messages.map((message) => `${formatLine(message, color)}\n`).join("");
    case "table":
      return formatTable(messages, color);
  }
}

function formatLine({ level, code, origin, reference, message }: Message, color: boolean): string {
  const place = [origin, reference].filter((part) => part !== undefined).join(" ");
  return `${colored(level, color)} [${code}]${place === "" ? "" : ` (${place})`} ${message}`;
}

function colored(level: Level, color: boolean, width = 0): string {
  const prefix = color ? colors[level] : "";
  return `${prefix}${level.padEnd(width)}${color ? "\u001b[0m" : ""}`;
}

function formatTable(messages: readonly Message[], color: boolean): string {
  const header = ["LEVEL", "CODE", "ORIGIN", "REFERENCE", "MESSAGE"];
  const rows = messages.map((m) => [m.level, m.code, m.origin ?? "-", m.reference ?? "-", m.message]);
  const widths = header.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells.map((cell, column) => (column === cells.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join("   ");
  const body = messages.map((m, i) => {
    const text = line(rows[i] ?? []);
    return color ? colored(m.level, true, widths[0]) + text.slice(widths[0]) : text;
  });
  return [line(header), ...body].map((text) => `${text}\n`).join("");
}
