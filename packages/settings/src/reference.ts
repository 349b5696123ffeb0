import type { Setting, SettingTable } from "./setting.js";

/** Describes a setting in one line: its help, default, variables, and why it is ignored if it is. */
export function describeSetting(setting: Setting<unknown>): string {
  const { flag, help, ignored, variables } = setting;
  const details = [
    ...(ignored === undefined ? [] : [`ignored: ${ignored}`]),
    ...(isUnset(setting) ? [] : [`default: ${setting.format(setting.default)}`]),
    ...(flag === undefined || variables.length === 0 ? [] : [`variable: ${variables.join(", ")}`]),
  ];
  return details.length === 0 ? help : `${help} (${details.join("; ")})`;
}

/** Returns the lines of a help text for the settings that have no flag, by titles. */
export function helpOfVariables(groups: Readonly<Record<string, SettingTable>>): string {
  return Object.entries(groups)
    .map(([title, table]) => {
      const settings = Object.values(table).filter(({ flag }) => flag === undefined);
      const lines = settings.map((setting) => `  ${setting.variables.join(", ")}\n      ${describeSetting(setting)}\n`);
      return lines.length === 0 ? "" : `${title}:\n${lines.join("")}`;
    })
    .filter((text) => text !== "")
    .join("\n");
}

/** Returns a Markdown section for each group: a heading and a table of its settings. */
export function settingsReference(groups: Readonly<Record<string, SettingTable>>): string {
  const sections = Object.entries(groups).map(([title, table]) =>
    [
      `## ${title}`,
      "",
      "| name | type | default | description |",
      "|---|---|---|---|",
      ...Object.values(table).map(row),
      "",
    ].join("\n"),
  );
  return sections.join("\n");
}

function row(setting: Setting<unknown>): string {
  const { flag, short, aliases, variables, type, help, ignored, isExtension } = setting;
  const names = [
    ...(flag === undefined ? [] : [`--${flag}`]),
    ...(short === undefined ? [] : [`-${short}`]),
    ...aliases.map((alias) => `--${alias}`),
    ...variables,
  ];
  const byDefault = isUnset(setting) ? "" : code(setting.format(setting.default));
  const description = [
    help,
    ...(ignored === undefined ? [] : [`Ignored: ${ignored}.`]),
    ...(isExtension === true ? ["*Not in Istio.*"] : []),
  ];
  const cells = [names.map(code).join(", "), type, byDefault, sentences(description)];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function sentences([first = "", ...rest]: readonly string[]): string {
  return rest.length === 0 ? first : [`${first.replace(/\.$/, "")}.`, ...rest].join(" ");
}

function isUnset(setting: Setting<unknown>): boolean {
  return setting.format(setting.default) === "";
}

function code(text: string): string {
  return `\`${text}\``;
}
