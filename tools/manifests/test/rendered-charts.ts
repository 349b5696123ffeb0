import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { parse, parseAllDocuments } from "yaml";
import { CHARTS, completeCharts, findHelm } from "../src/index.js";

export interface RenderedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Record<string, string> };
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- objects of all kinds
  readonly [field: string]: any;
}

/** Complete copies of the charts, apart from those in the repository. */
export class Charts {
  readonly #helm: string;
  readonly directory: string;

  private constructor(helm: string, directory: string) {
    this.#helm = helm;
    this.directory = directory;
  }

  static async copy(): Promise<Charts> {
    const helm = await findHelm();
    if (helm === undefined) throw new Error("there is no Helm");
    const directory = await mkdtemp(join(tmpdir(), "istiod-charts-"));
    await cp(CHARTS, directory, { recursive: true, filter: (path) => !path.includes(".gen.") });
    await completeCharts(directory);
    return new Charts(helm, directory);
  }

  /** Runs Helm, and returns its output. Fails with what Helm says. */
  async run(...args: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(this.#helm, args, { maxBuffer: 64 << 20, cwd: this.directory });
    return stdout;
  }

  /** Renders a chart into the namespace istio-system. */
  async render(chart: string, ...args: readonly string[]): Promise<readonly RenderedObject[]> {
    const text = await this.run("template", "mesh", chart, "-n", "istio-system", ...args);
    return parseAllDocuments(text).flatMap((document) => {
      if (document.errors[0]) throw document.errors[0];
      return document.contents === null ? [] : [document.toJS() as RenderedObject];
    });
  }

  /** Renders the notes that `helm install` prints. `helm template` has none, so they become an object of a copy. */
  async notes(chart: string, ...args: readonly string[]): Promise<string> {
    const copy = join(this.directory, `${chart}-notes`);
    await cp(join(this.directory, chart), copy, { recursive: true });
    await cp(join(copy, "templates/NOTES.txt"), join(copy, "files/notes.txt"));
    await writeFile(join(copy, "templates/notes.yaml"), 'notes: {{ tpl (.Files.Get "files/notes.txt") . | quote }}\n');
    const text = await this.run("template", "mesh", copy, "--show-only", "templates/notes.yaml", ...args);
    return (parse(text) as { readonly notes: string }).notes;
  }

  remove(): Promise<void> {
    return rm(this.directory, { recursive: true, force: true });
  }
}

/** Returns the path to which an object of a built-in kind is posted, or of a kind of Istio. */
export function collectionPath({ apiVersion, kind, metadata }: RenderedObject): string {
  const group = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const scope = metadata.namespace === undefined ? "" : `/namespaces/${metadata.namespace}`;
  return `${group}${scope}/${pluralOf(kind)}`;
}

/** Returns the name of the resource of a built-in kind, or of a kind of Istio or the Gateway API. */
export function pluralOf(kind: string): string {
  const name = kind.toLowerCase();
  if (name.endsWith("ss")) return `${name}es`;
  return `${name}s`.replace(/([^aeiou])ys$/, "$1ies");
}
