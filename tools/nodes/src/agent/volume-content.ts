import { type FileSource, type KeyToPath, matches, type Pod, type Stored, type Volume } from "../kube/objects.js";
import { type EnvSources, required } from "./environment.js";
import { fieldValue, resourceValue } from "./field-values.js";
import type { ServiceAccountTokens } from "./service-account-tokens.js";
import type { VolumeFile, VolumeFiles } from "./volume-files.js";

/** Objects that volumes are filled from. */
export interface VolumeSources extends EnvSources {
  readonly tokens: ServiceAccountTokens;
  trustBundles(): readonly Stored[];
}

/**
 * Returns the files of a volume; `undefined` if it is a folder that containers write, or of this machine.
 *
 * @throws Error that names a required object or key that does not exist, or an unsupported source
 */
export async function volumeFiles(pod: Pod, volume: Volume, sources: VolumeSources): Promise<VolumeFiles | undefined> {
  const { configMap, secret, downwardAPI, projected, emptyDir, hostPath } = volume;
  // Without a source, it is an emptyDir.
  if (emptyDir || hostPath || Object.keys(volume).length === 1) return undefined;
  const mode = (configMap ?? secret ?? downwardAPI ?? projected)?.defaultMode ?? 0o644;
  const files = new Map<string, VolumeFile>();
  const parts: readonly FileSource[] = projected?.sources ?? [
    {
      ...(configMap && { configMap }),
      ...(secret && { secret: { ...secret, name: secret.secretName ?? "" } }),
      ...(downwardAPI && { downwardAPI }),
    },
  ];
  for (const part of parts) {
    const content = await filesOf(pod, part, sources);
    if (!content) throw new Error(`volume ${volume.name}: unsupported source`);
    for (const [path, bytes, own] of content) files.set(path, { content: bytes, mode: own ?? mode });
  }
  return files;
}

type Content = readonly (readonly [path: string, content: Buffer, mode?: number | undefined])[];

async function filesOf(pod: Pod, source: FileSource, sources: VolumeSources): Promise<Content | undefined> {
  const { configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle } = source;
  if (configMap) {
    const found = required("ConfigMap", configMap, sources.configMap(configMap.name ?? ""));
    const text = Object.entries(found?.data ?? {}).map(([key, value]) => [key, Buffer.from(value)] as const);
    return selected(`ConfigMap ${configMap.name}`, configMap, new Map([...text, ...binary(found?.binaryData)]));
  }
  if (secret) {
    const found = required("Secret", secret, sources.secret(secret.name ?? ""));
    return selected(`Secret ${secret.name}`, secret, new Map(binary(found?.data)));
  }
  if (downwardAPI)
    return (downwardAPI.items ?? []).map(({ path, mode, fieldRef, resourceFieldRef }) => {
      const value = fieldRef
        ? fieldValue(pod, fieldRef, sources.addresses)
        : resourceValue(pod, undefined, resourceFieldRef ?? { resource: "" });
      return [path, Buffer.from(value), mode];
    });
  if (serviceAccountToken) {
    const { path, audience = "", expirationSeconds = 3600 } = serviceAccountToken;
    return [[path, Buffer.from(await sources.tokens.get(audience, expirationSeconds))]];
  }
  return clusterTrustBundle && trustBundle(clusterTrustBundle, sources.trustBundles());
}

function binary(data: Readonly<Record<string, string>> = {}): [string, Buffer][] {
  return Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64")]);
}

function selected(
  from: string,
  { items, optional }: { readonly items?: readonly KeyToPath[]; readonly optional?: boolean },
  content: ReadonlyMap<string, Buffer>,
): Content {
  if (!items) return [...content];
  return items.flatMap(({ key, path, mode }): Content => {
    const bytes = content.get(key);
    if (bytes) return [[path, bytes, mode]];
    if (optional === true) return [];
    throw new Error(`${from}: references non-existent key: ${key}`);
  });
}

function trustBundle(
  { path, name, signerName, labelSelector, optional }: NonNullable<FileSource["clusterTrustBundle"]>,
  bundles: readonly Stored[],
): Content {
  const specOf = (bundle: Stored): { signerName?: string; trustBundle?: string } =>
    (bundle as Stored & { readonly spec?: object }).spec ?? {};
  const found = bundles.filter((bundle) =>
    name === undefined
      ? labelSelector && specOf(bundle).signerName === signerName && matches(labelSelector, bundle.metadata.labels)
      : bundle.metadata.name === name,
  );
  const pem = found.map((bundle) => specOf(bundle).trustBundle?.trim() ?? "").filter((text) => text !== "");
  if (pem.length > 0) return [[path, Buffer.from(`${[...new Set(pem)].sort().join("\n")}\n`)]];
  if (optional === true) return [];
  throw new Error(`ClusterTrustBundle ${name ?? `of signer ${signerName ?? ""}`} not found`);
}
