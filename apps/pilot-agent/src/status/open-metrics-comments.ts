import type { MetricsFormat } from "./metrics-format.js";

const NAME = "[A-Za-z_:][A-Za-z0-9_:]*";
const HELP = new RegExp(`^#[ \\t]+HELP[ \\t]+(${NAME})(?:[ \\t]+(.*))?$`);
const TYPE = new RegExp(`^#[ \\t]+TYPE[ \\t]+(${NAME})[ \\t]+(counter|gauge|histogram|summary|untyped)$`);
/** Comments of OpenMetrics, which has exactly one space between their parts. */
const OPEN_METRICS = new RegExp(
  `^# (?:TYPE ${NAME} (?:counter|gauge|histogram|gaugehistogram|stateset|info|summary|unknown)|(?:HELP|UNIT) ${NAME} .*)$`,
);
const TOTAL = "_total";

/**
 * Converts comments of the text format to OpenMetrics, in which samples of a counter end with `_total` and its name
 * does not. Other counters, such as all of Envoy's, keep the names of their samples and are of unknown type.
 */
export class OpenMetricsComments {
  /** A HELP whose name depends on the TYPE that follows. */
  #help: { readonly name: string; readonly text: string } | undefined;

  /** Returns the lines that a comment stands for; empty if they follow later, or if it has no meaning. */
  convert(line: string, from: MetricsFormat): string {
    if (from === "openmetrics") return OPEN_METRICS.test(line) ? `${line}\n` : "";
    const help = HELP.exec(line);
    if (help !== null) {
      this.#help = { name: help[1] ?? "", text: escaped(help[2] ?? "") };
      return "";
    }
    const type = TYPE.exec(line);
    return type === null ? "" : this.#typed(type[1] ?? "", type[2] ?? "");
  }

  #typed(name: string, type: string): string {
    const isCounter = type === "counter" && name.endsWith(TOTAL) && name !== TOTAL;
    const family = isCounter ? name.slice(0, -TOTAL.length) : name;
    const converted = type === "untyped" || (type === "counter" && !isCounter) ? "unknown" : type;
    const help = this.#help?.name === name ? `# HELP ${family} ${this.#help.text}\n` : "";
    this.#help = undefined;
    return `# TYPE ${family} ${converted}\n${help}`;
  }
}

/** Converts whole lines of a source without timestamps, such as Envoy, whose samples are the same in both formats. */
export function openMetricsOf(lines: string): string {
  const comments = new OpenMetricsComments();
  return lines.replace(/^(?:#.*)?\n/gm, (line) => comments.convert(line.slice(0, -1), "text"));
}

/** Escapes quotes, which the text format does not. */
function escaped(text: string): string {
  return text.replace(/\\.|"/g, (part) => (part === '"' ? '\\"' : part));
}
