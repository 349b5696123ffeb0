import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { anyType, goFunction, GoStruct, goValue, stringType, Template } from "@istiod/go-template";
import { parse, parseAllDocuments } from "yaml";
import { CHARTS } from "../complete-charts.js";
import { chartFunctions } from "./chart-functions.js";

/** An object that a chart contains. */
export interface ChartObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

export interface RenderOptions {
  /** Folder of the charts, which `completeCharts` has completed. Default: the repository's. */
  readonly charts?: string;
  readonly release: string;
  readonly namespace: string;
  /** Values of the user. Default: none. */
  readonly values?: Readonly<Record<string, unknown>>;
}

/** Bounds one template; the definitions of a chart are larger than what templates may be by default. */
const LIMITS = { steps: 20_000_000, length: 64 << 20 };

/**
 * Renders a chart as `helm template` does for an installation. This is for the charts here, where Helm is missing: it
 * has the functions that they call, and neither subcharts, `lookup`, capabilities nor hooks.
 *
 * @throws TemplateError in Helm's words
 */
export async function renderChart(chart: string, options: RenderOptions): Promise<readonly ChartObject[]> {
  const directory = join(options.charts ?? CHARTS, chart);
  const files = await readFiles(directory);
  const [about = "", values = ""] = [files.get("Chart.yaml"), files.get("values.yaml")];
  const { name, version, appVersion } = parse(about) as Record<"name" | "version" | "appVersion", string>;
  const { release, namespace } = options;
  const templates = [...files].filter(([path]) => /^templates\/.*\.(yaml|tpl)$/.test(path));
  const template: Template = new Template(chart, {
    functions: chartFunctions(() => template),
    limits: LIMITS,
  });
  for (const [path, text] of templates) template.parse(text, `${chart}/${path}`);
  const objects = templates
    .filter(([path]) => !basename(path).startsWith("_"))
    .flatMap(([path]) => {
      const data = goValue({
        Values: { ...(parse(values) as object), ...options.values },
        Release: {
          Name: release,
          Namespace: namespace,
          Service: "Helm",
          IsUpgrade: false,
          IsInstall: true,
          Revision: 1n,
        },
        Chart: new GoStruct("chart.Metadata", { Name: name, Version: version, AppVersion: appVersion }),
        Files: filesValue(files),
      });
      return objectsOf(template.execute(data, `${chart}/${path}`));
    });
  return objects;
}

async function readFiles(directory: string): Promise<ReadonlyMap<string, string>> {
  const paths = (await readdir(directory, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .sort();
  return new Map(
    await Promise.all(paths.map(async (path) => [path, await readFile(join(directory, path), "utf8")] as const)),
  );
}

function filesValue(files: ReadonlyMap<string, string>): GoStruct {
  const methods = {
    Get: goFunction([stringType], stringType, (path) => files.get(path) ?? ""),
    Glob: goFunction([stringType], anyType, (pattern) => {
      const expression = new RegExp(
        `^${pattern
          .split("*")
          .map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"))
          .join("[^/]*")}$`,
      );
      return goValue(Object.fromEntries([...files].filter(([path]) => expression.test(path))));
    }),
  };
  return new GoStruct("engine.files", {}, { methods });
}

function objectsOf(text: string): ChartObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors[0]) throw document.errors[0];
    return document.contents === null ? [] : [document.toJS() as ChartObject];
  });
}
