import { stringify } from "yaml";

/** Returns a value in YAML as `sigs.k8s.io/yaml` writes it: in block style, the keys of maps sorted. */
export const yamlText = (value: unknown): string =>
  stringify(value ?? null, {
    // Words that mean a boolean or a number in YAML 1.1 are quoted.
    version: "1.1",
    sortMapEntries: true,
    indentSeq: false,
    lineWidth: 0,
    aliasDuplicateObjects: false,
  });
