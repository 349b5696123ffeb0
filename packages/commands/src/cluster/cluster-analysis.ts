import { type Analysis, analyzeTexts, type Message, type TextsToAnalyze } from "@istiod/analysis";
import { allKinds, analysisKinds } from "@istiod/config-schema";
import type { Cluster } from "./cluster.js";
import { readMeshObjects, withoutDefined } from "./mesh-objects.js";

/** Name of the texts of a cluster's objects. Findings about them have no line. */
const clusterFile = "cluster";

/** Findings about a cluster, and why kinds could not be read. */
export interface ClusterAnalysis extends Analysis {
  readonly unread: readonly string[];
}

/**
 * Analyzes the objects of a cluster, with those of texts in place of its own. Mesh configuration and networks are those
 * of the texts, else of the cluster.
 *
 * @throws ApiError; Error that names an analyzer that does not exist
 */
export async function analyzeCluster(cluster: Cluster, texts: TextsToAnalyze): Promise<ClusterAnalysis> {
  const mesh = await readMeshObjects(cluster, [...allKinds, ...analysisKinds], texts.revision);
  const objects = withoutDefined(
    mesh.objects,
    texts.files.map(({ text }) => text),
  );
  const file = (text: string, index: number | string) => ({ file: `${clusterFile}/${index}`, text });
  const meshConfig = texts.meshConfig ?? (mesh.meshConfig === undefined ? undefined : file(mesh.meshConfig, "mesh"));
  const meshNetworks =
    texts.meshNetworks ?? (mesh.meshNetworks === undefined ? undefined : file(mesh.meshNetworks, "meshNetworks"));
  const { messages, unparsed } = analyzeTexts({
    ...texts,
    files: [...texts.files, ...objects.map((object, index) => file(JSON.stringify(object), index))],
    ...(meshConfig && { meshConfig }),
    ...(meshNetworks && { meshNetworks }),
    isWholeCluster: true,
  });
  return { messages: messages.map(withoutClusterFile), unparsed, unread: mesh.unread };
}

function withoutClusterFile(message: Message): Message {
  const { reference, ...rest } = message;
  return reference?.startsWith(`${clusterFile}/`) === true ? rest : message;
}
