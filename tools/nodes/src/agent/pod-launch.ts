import { access, chmod, mkdir, writeFile } from "node:fs/promises";
import { join, posix } from "node:path";
import type { Container, Pod } from "../kube/objects.js";
import { environmentOf, type EnvSources } from "./environment.js";
import { expand } from "./expand.js";
import { type Image, imageName, type Images } from "./images.js";
import { type Launch, UnknownImageError } from "./container-runner.js";
import type { Identity, Mount } from "./launch.js";
import type { PodVolumes } from "./pod-volumes.js";

export interface LaunchContext {
  readonly images: Images;
  readonly namespaces: number;
  readonly directory: string;
  /** Files of the pod by their path in containers. */
  readonly nameFiles: Readonly<Record<string, string>>;
  readonly volumes: PodVolumes;
  readonly sources: EnvSources;
}

/**
 * Returns what to start for a container.
 *
 * @throws UnknownImageError, or Error that names what is missing
 */
export async function launchOf(pod: Pod, container: Container, context: LaunchContext): Promise<Launch> {
  const image = context.images[imageName(container.image)];
  if (!image)
    throw new UnknownImageError(`image ${container.image}: the registry has no ${imageName(container.image)}`);
  const directory = container.workingDir ?? "/";
  if (image.root !== undefined && directory !== "/")
    throw new Error(`workingDir ${directory}: containers of an image with files of its own run in /`);
  const identity = identityOf(pod, container, image);
  const env = environmentOf(pod, container, context.sources, image.env);
  const entrypoint = container.command?.map((word) => expand(word, env)) ?? image.entrypoint;
  // As in Kubernetes: a command without args does not get the arguments of the image.
  const args = container.args?.map((word) => expand(word, env)) ?? (container.command ? [] : (image.args ?? []));
  return {
    namespaces: context.namespaces,
    mounts: await mountsOf(pod, container, env, context),
    links: image.files ?? {},
    imageRoot: image.root,
    isRootReadOnly: container.securityContext?.readOnlyRootFilesystem ?? false,
    identity,
    directory,
    env,
    command: [...entrypoint, ...args],
    hasInput: container.stdin ?? false,
    isTerminal: container.tty ?? false,
  };
}

async function mountsOf(
  pod: Pod,
  container: Container,
  env: ReadonlyMap<string, string>,
  { directory, nameFiles, volumes }: LaunchContext,
): Promise<Mount[]> {
  const message = join(directory, "containers", container.name, "termination-log");
  await mkdir(join(directory, "containers", container.name), { recursive: true });
  await writeFile(message, "");
  await chmod(message, 0o666);
  const files = { ...nameFiles, [container.terminationMessagePath ?? "/dev/termination-log"]: message };
  const mounts = Object.entries(files).map(([target, source]) => ({ source, target, readOnly: false }));
  for (const { name, mountPath, subPath, subPathExpr, readOnly = false } of container.volumeMounts ?? []) {
    const part = subPathExpr === undefined ? (subPath ?? "") : expand(subPathExpr, env);
    if (part.split("/").includes("..")) throw new Error(`volumeMounts: subPath ${part} must not contain '..'`);
    const source = join(volumes.pathOf(pod, name), part);
    if (part !== "") await access(source).catch(() => mkdir(source, { recursive: true }));
    mounts.push({ source, target: posix.resolve("/", mountPath), readOnly });
  }
  return mounts;
}

/** @throws Error if the container must not run as root, and would */
function identityOf({ spec }: Pod, { securityContext = {} }: Container, image: Image): Identity {
  const { runAsUser, runAsGroup, runAsNonRoot, fsGroup, supplementalGroups = [] } = spec.securityContext ?? {};
  const user = securityContext.runAsUser ?? runAsUser ?? image.user ?? 0;
  // Programs of this machine, which stand for an image, have no user.
  if (image.root !== undefined && user === 0 && (securityContext.runAsNonRoot ?? runAsNonRoot))
    throw new Error("container has runAsNonRoot and image will run as root");
  return {
    user,
    group: securityContext.runAsGroup ?? runAsGroup ?? image.group ?? 0,
    groups: [...supplementalGroups, ...(fsGroup === undefined ? [] : [fsGroup])],
    capabilities: securityContext.capabilities?.add ?? [],
  };
}

/** Returns the fields of a pod that would have no effect here. */
export function unsupportedFields({ spec }: Pod): string[] {
  const result: string[] = [];
  if (spec.hostNetwork) result.push("spec.hostNetwork");
  if (spec.hostPID) result.push("spec.hostPID");
  for (const { name, ...source } of spec.volumes ?? []) {
    const kinds = Object.keys(source);
    const known = ["emptyDir", "hostPath", "configMap", "secret", "downwardAPI", "projected"];
    for (const kind of kinds) if (!known.includes(kind)) result.push(`spec.volumes[${name}].${kind}`);
  }
  return result;
}
