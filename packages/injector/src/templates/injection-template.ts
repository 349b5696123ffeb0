import { parseYaml } from "@istiod/config-schema";
import { parseTemplate, type Template, TemplateError, type Value } from "@istiod/go-template";
import { InjectorError } from "../errors.js";
import { asObject, type JsonObject, jsonTypeOf } from "../go-types/json.js";
import { type FunctionOptions, injectionFunctions } from "./functions.js";
import { gatewayData, type GatewayTemplateInput } from "./gateway-data.js";
import {
  checkStructure,
  type NeutralData,
  neutralData,
  neutralGatewayData,
  neutralReader,
  type NeutralReader,
} from "./structure-check.js";
import { type TemplateInput, templateData } from "./template-data.js";

/** The most that a template may do for a pod: many times as much as for pods that API servers accept. */
const limits = { steps: 60_000, length: 2 ** 19 };

/** A parsed template of injection. */
export class InjectionTemplate {
  readonly name: string;
  readonly #source: string;
  readonly #options: FunctionOptions;
  readonly #template: Template;
  #neutral: { readonly template: Template; readonly reader: NeutralReader } | undefined;

  /** @throws InjectorError `config` if the source is no template */
  constructor(name: string, source: string, options: FunctionOptions) {
    this.name = name;
    this.#source = source;
    this.#options = options;
    this.#template = this.#parse((text) => text);
  }

  /**
   * Renders the template, and returns the patch that its YAML is.
   *
   * @throws InjectorError `template` if it fails, if its output is no YAML object, or if a value of the pod changes the
   *   structure of the output
   */
  render(input: TemplateInput): JsonObject {
    const read = (template: Template, from: TemplateInput) => this.#read(this.#execute(template, templateData(from)));
    return this.#checked(input, read, neutralData(input), input.pod);
  }

  /**
   * Renders the template of a managed gateway, and returns the objects that its YAML has.
   *
   * @throws InjectorError `template` as `render`
   */
  renderObjects(input: GatewayTemplateInput): readonly JsonObject[] {
    const read = (template: Template, from: GatewayTemplateInput) =>
      documentsIn(this.#execute(template, gatewayData(from))).map((text) => this.#read(text));
    return this.#checked(input, read, neutralGatewayData(input), { kind: "Gateway", metadata: input.metadata });
  }

  /** Returns the output for an input, after a comparison with that for neutral strings. */
  #checked<T, O>(
    input: T,
    read: (template: Template, input: T) => O,
    neutral: NeutralData<T> | undefined,
    object: JsonObject,
  ): O {
    const output = read(this.#template, input);
    if (neutral !== undefined) {
      this.#neutral ??= this.#neutralTemplate();
      const { template, reader } = this.#neutral;
      reader.originals = neutral.originals;
      checkStructure(this.name, output, () => read(template, neutral.input), neutral, object);
    }
    return output;
  }

  #execute(template: Template, data: Value): string {
    try {
      return template.execute(data);
    } catch (cause) {
      if (cause instanceof TemplateError) throw new InjectorError("template", cause.message, { cause });
      throw cause;
    }
  }

  #read(text: string): JsonObject {
    const parsed = parseYaml({ text, line: 1 }, { allowsDuplicateKeys: true });
    if ("message" in parsed)
      throw new InjectorError(
        "template",
        `failed parsing generated injected YAML (check Istio sidecar injector configuration): template ${this.name}, ` +
          `line ${parsed.line} of its output: ${parsed.message}`,
      );
    const object = asObject(parsed.value ?? {});
    if (object === undefined)
      throw new InjectorError(
        "template",
        `template ${this.name}: its output is ${jsonTypeOf(parsed.value)}, expected an object`,
      );
    return object;
  }

  #neutralTemplate(): { readonly template: Template; readonly reader: NeutralReader } {
    const reader = neutralReader();
    return { template: this.#parse(reader.read), reader };
  }

  #parse(readJson: (text: string) => string): Template {
    try {
      return parseTemplate("inject", this.#source, {
        functions: injectionFunctions(this.#options, readJson),
        limits,
      });
    } catch (cause) {
      if (cause instanceof TemplateError)
        throw new InjectorError("config", `template ${this.name}: ${cause.message}`, { cause });
      throw cause;
    }
  }
}

/** Splits the output of a gateway's template at lines of `---`. Documents without content are dropped. */
function documentsIn(text: string): readonly string[] {
  return text.split(/^---.*$/m).filter((document) => /^[^\S\n]*[^#\s]/m.test(document));
}
