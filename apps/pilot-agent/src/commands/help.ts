import { formatDuration } from "../options/duration.js";
import type { Option } from "../options/option.js";
import { optionTable } from "../options/table.js";

/** A default as a person would write it. */
export function displayDefault(option: Option<unknown>): string {
  if (option.kind === "duration") return formatDuration(Number(option.default));
  return option.default === "" ? "empty" : String(option.default);
}

/** The variables of the table, for `--help`. */
export function environmentHelp(): string {
  const groups = Object.entries(optionTable).map(([title, group]) => {
    const variables = Object.values<Option<unknown>>(group).filter((option) => option.env !== undefined);
    const lines = variables.map(
      (option) => `  ${option.env} (default: ${displayDefault(option)})\n      ${option.help}`,
    );
    return lines.length === 0 ? "" : `${title}:\n${lines.join("\n")}\n`;
  });
  return `Environment variables\n\n${groups.filter((text) => text !== "").join("\n")}
ISTIO_META_<NAME> and ISTIO_METAJSON_<ANY> become node metadata; XDS_HEADER_<NAME> and CA_HEADER_<NAME> become request headers.`;
}

/** The table as a page of Markdown. */
export function optionsPage(): string {
  const groups = Object.entries(optionTable).map(([title, group]) => {
    const rows = Object.values<Option<unknown>>(group).map((option) => {
      const names = [
        option.flag === undefined ? "" : `\`--${option.flag}\``,
        option.env === undefined ? "" : `\`${option.env}\``,
      ].filter((name) => name !== "");
      return `| ${names.join(", ")} | ${option.kind} | ${displayDefault(option)} | ${option.help.replaceAll("|", "\\|")}${option.own ? " *Not in Istio.*" : ""} |`;
    });
    return `## ${title}\n\n| Name | Kind | Default | What it does |\n|---|---|---|---|\n${rows.join("\n")}\n`;
  });
  return `${groups.join("\n")}
## More variables

| Name | What it does |
|---|---|
| \`ISTIO_META_<NAME>\` | Node metadata \`<NAME>\`; also in \`proxyMetadata\` of the proxy configuration, over which the environment wins. |
| \`ISTIO_METAJSON_<ANY>\` | A JSON object that is merged into the node metadata; \`ISTIO_METAJSON_LABELS\` also gives the workload's labels. |
| \`XDS_HEADER_<NAME>\`, \`CA_HEADER_<NAME>\` | A header of each request to istiod's discovery, or to the authority. |
`;
}
