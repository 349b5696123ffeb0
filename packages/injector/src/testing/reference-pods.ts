import { parseAllDocuments } from "yaml";

type Json = Record<string, unknown>;

/** Returns the pods of a file as their controllers would create them. */
export function podsOf(text: string): readonly Json[] {
  const documents = parseAllDocuments(text, { version: "1.1" }).map((document) => document.toJS() as Json | null);
  return documents.flatMap((document) => (document?.["items"] as Json[] | undefined) ?? [document]).flatMap(podOf);
}

function podOf(object: Json | null): readonly Json[] {
  const { apiVersion, kind, metadata, spec } = (object ?? {}) as Record<string, Json>;
  if (String(kind) === "Pod") return [{ metadata, spec }];
  const template = spec?.["template"] as Json | undefined;
  if (template === undefined) return [];
  const { name, namespace } = metadata ?? {};
  return [
    {
      ...template,
      metadata: {
        ...(template["metadata"] as Json),
        ...(namespace !== undefined && { namespace }),
        generateName: `${String(name)}-`,
        ownerReferences: [{ apiVersion, kind, name, uid: "1", controller: true }],
      },
    },
  ];
}
