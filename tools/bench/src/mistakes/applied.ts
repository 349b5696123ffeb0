import type { AdmissionRequest, JsonObject } from "@istiod/admission";
import { addedWarnings, LiveAnalysis } from "@istiod/analysis";
import {
  allKinds,
  analysisKinds,
  applyChanges,
  defaultMeshConfig,
  istioKinds,
  meshConfig,
  meshConfigKey,
  parseYaml,
  readText,
  splitDocuments,
} from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { validationWebhook, warnedKinds, warningWebhook } from "@istiod/validation";
import type { Mistake } from "./recorded.js";

/** The lines that kubectl shows of an object that is applied. */
export interface Said {
  readonly kind: string;
  readonly group: string;
  /** True if the object is refused, by kubectl or by a webhook. */
  readonly isRefused: boolean;
  readonly lines: readonly string[];
}

type FurtherWarnings = ReturnType<typeof addedWarnings>;

const kinds = [...allKinds, ...analysisKinds];
const context = { url: new URL("https://istiod.example/"), signal: new AbortController().signal };

/** Reports whether a webhook reviews objects of a kind. */
export function isReviewed(kind: string, group: string): boolean {
  return [...istioKinds, ...warnedKinds].some((each) => each.kind === kind && each.group === group);
}

/** Applies the objects of a mistake one after the other, and returns what the webhooks say about each. */
export async function applied({ texts }: Pick<Mistake, "texts">): Promise<readonly Said[]> {
  const [mesh, added] = texts.length === 1 ? ["", texts[0]] : texts;
  const database = new Database<undefined>();
  const write = (text: string): void => {
    const changes = readText(text, "", { kinds }).flatMap(({ objects }) => objects);
    database.commit((tx) => applyChanges(tx, changes));
  };
  database.commit((tx) => tx.set(meshConfig, meshConfigKey, defaultMeshConfig()));
  write(mesh);
  const analysis = new LiveAnalysis({ database, client: undefined, kinds: allKinds, sources: [], problems: () => [] });
  try {
    await analysis.start();
    const furtherWarnings = addedWarnings({
      // However loaded the machine is.
      analysis: { findingsAddedBy: (object) => analysis.findingsAddedBy(object, 60_000) },
      revision: "default",
      onError: () => undefined,
      clock: { now: () => 0 },
    });
    const said: Said[] = [];
    for (const document of splitDocuments(added)) {
      const parsed = parseYaml(document);
      // kubectl reads it, too.
      if ("message" in parsed) said.push({ kind: "", group: "", isRefused: true, lines: [parsed.message] });
      else if (isObject(parsed.value)) said.push(await reviewed(parsed.value, furtherWarnings));
      write(document.text);
    }
    return said;
  } finally {
    analysis.stop();
  }
}

async function reviewed(object: JsonObject, furtherWarnings: FurtherWarnings): Promise<Said> {
  const { apiVersion, kind, metadata } = object;
  const version = typeof apiVersion === "string" ? apiVersion : "";
  const group = version.includes("/") ? version.slice(0, version.indexOf("/")) : "";
  const about = { kind: typeof kind === "string" ? kind : "", group };
  const isIstios = istioKinds.some((each) => each.group === about.group);
  if (!isIstios && !isReviewed(about.kind, about.group)) return { ...about, isRefused: false, lines: [] };
  const admit = isIstios ? validationWebhook({ furtherWarnings }) : warningWebhook({ furtherWarnings });
  const request: AdmissionRequest = {
    uid: "1",
    kind: { ...about, version },
    resource: { group: about.group, version, resource: "" },
    subResource: "",
    name: "",
    namespace: isObject(metadata) && typeof metadata["namespace"] === "string" ? metadata["namespace"] : "default",
    operation: "CREATE",
    user: "",
    object,
    oldObject: undefined,
    dryRun: false,
  };
  const response = await admit(request, context);
  return {
    ...about,
    isRefused: !response.allowed,
    lines: [...(response.allowed ? [] : [response.message]), ...(response.warnings ?? [])],
  };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
