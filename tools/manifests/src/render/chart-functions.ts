import {
  anySliceType,
  anyType,
  type Functions,
  goFunction,
  goValue,
  stringType,
  type Template,
  type Value,
} from "@istiod/go-template";
import { sprigFunctions } from "@istiod/go-template/sprig";
import { parse, stringify } from "yaml";

const sprig = sprigFunctions();

/** Returns the functions of a chart's templates: those of sprig, and of Helm those that the charts here call. */
export function chartFunctions(template: () => Template): Functions {
  return {
    ...sprig,
    include: goFunction([stringType, anyType], stringType, (name, data) => template().execute(data, name)),
    tpl: goFunction([stringType, anyType], stringType, (text, data) =>
      template().parse(text, "tpl").execute(data, "tpl"),
    ),
    required: goFunction([stringType, anyType], anyType, (message, value) => {
      if (value === null || value === "") throw new Error(message);
      return value;
    }),
    toYaml: goFunction([anyType], stringType, (value) => yamlText(plainValue(value))),
    fromYaml: goFunction([stringType], anyType, (text) => goValue(parseYaml(text) ?? {})),
    fromYamlArray: goFunction([stringType], anySliceType, (text) => goValue(parseYaml(text) ?? []) as never),
  };
}

// YAML 1.1, as Helm writes it: quotes what that version has as booleans or numbers.
const yamlText = (value: unknown): string =>
  stringify(value, { version: "1.1", lineWidth: 0, aliasDuplicateObjects: false }).trimEnd();

const parseYaml = (text: string): unknown => parse(text, { maxAliasCount: 0 }) as unknown;

function plainValue(value: Value): unknown {
  const text = sprig["toRawJson"]?.call([value]);
  return JSON.parse(String(text)) as unknown;
}
