import type { DescMessage, Message } from "@bufbuild/protobuf";
import { type ConfigObject, ineffectiveFields, istioKinds, type Kind } from "@istiod/config-schema";
import type { Collection } from "@istiod/incremental";
import { type Analyzer, type Rule, rule } from "../../analyzer.js";

/** Fields of the mesh configuration are warnings of its document. */
export const unsupportedFieldAnalyzer: Analyzer = {
  name: "mesh.UnsupportedFieldAnalyzer",
  description: "Checks for fields that have no effect",
  codes: ["MESH0003"],
  rules: istioKinds.flatMap((kind) => (kind.schema === undefined ? [] : [ruleFor(kind, kind.schema)])),
};

function ruleFor(kind: Kind, schema: DescMessage): Rule {
  const objects = kind.collection as Collection<ConfigObject<Message, unknown>>;
  return rule(kind, objects, ({ spec }, { report }) => {
    for (const { path, message } of ineffectiveFields(schema, spec, ["spec"])) report("MESH0003", path, message);
  });
}
