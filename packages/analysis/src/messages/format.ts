import { stringify } from "yaml";
import type { Level } from "../codes.js";
import type { Message } from "./message.js";

/** Output formats: those of `istioctl analyze`, and a table. */
export const formats = ["log", "json", "yaml", "table"] as const;

export type Format = (typeof formats)[number];

/** Terminal colors by severity, as in `istioctl`: bold red and yellow. */
const colors: Readonly<Record<Level, string>> = { Error: "\u001b[1;31m", Warning: "\u001b[33m", Info: "" };

/** A message that is formatted; its code may be one that no analyzer has. */
export type FormattedMessage = Omit<Message, "code"> & { readonly code: string };

/** Formats messages, with a trailing newline. */
export function formatMessages(messages: readonly FormattedMessage[], format: Format, color = false): string {
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

function formatLine({ level, code, origin, reference, message }: FormattedMessage, color: boolean): string {
  const place = [origin, reference].filter((part) => part !== undefined).join(" ");
  return `${colored(level, color)} [${code}]${place === "" ? "" : ` (${place})`} ${message}`;
}

function colored(level: Level, color: boolean, width = 0): string {
  const prefix = color ? colors[level] : "";
  return `${prefix}${level.padEnd(width)}${color ? "\u001b[0m" : ""}`;
}

function formatTable(messages: readonly FormattedMessage[], color: boolean): string {
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
