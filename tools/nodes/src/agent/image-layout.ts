import { execFile } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Image } from "./images.js";

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly platform?: { readonly architecture: string; readonly os: string };
}

interface Config {
  readonly User?: string;
  readonly Env?: readonly string[];
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
}

/**
 * Unpacks the image of this machine's architecture in an OCI image layout.
 *
 * @param layout folder with `index.json`
 * @param directory an existing folder for the root
 * @throws Error that names what the layout lacks
 */
export async function unpackLayout(layout: string, directory: string): Promise<Image> {
  const blob = (digest: string): string => join(layout, "blobs", digest.replace(":", "/"));
  const read = async <T>(file: string): Promise<T> => JSON.parse(await readFile(file, "utf8")) as T;
  let { manifests } = await read<{ manifests: readonly Descriptor[] }>(join(layout, "index.json"));
  while (manifests[0]?.mediaType.endsWith("index.v1+json"))
    ({ manifests } = await read<{ manifests: readonly Descriptor[] }>(blob(manifests[0].digest)));
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  const found = manifests.find(({ platform }) => !platform || platform.architecture === architecture);
  if (!found) throw new Error(`${layout}: there is no image for ${architecture}`);
  const { config, layers } = await read<{ config: Descriptor; layers: readonly Descriptor[] }>(blob(found.digest));
  const root = join(directory, found.digest.replace(":", "-"));
  await mkdir(root);
  for (const { digest } of layers)
    await promisify(execFile)("tar", ["-xzf", blob(digest), "-C", root, "--same-owner", "--same-permissions"]);
  const {
    Entrypoint = [],
    Cmd = [],
    Env = [],
    User = "",
  } = (await read<{ config: Config }>(blob(config.digest))).config;
  return { entrypoint: Entrypoint, args: Cmd, env: variablesOf(Env), root, ...usersOf(layout, User) };
}

function variablesOf(assignments: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    assignments.map((assignment) => {
      const at = assignment.indexOf("=");
      return [assignment.slice(0, at), assignment.slice(at + 1)];
    }),
  );
}

/** @throws Error for users by name, whose numbers only the image's files know */
function usersOf(layout: string, user: string): { readonly user?: number; readonly group?: number } {
  if (user === "") return {};
  const [uid, gid = 0] = user.split(":").map(Number);
  if (!Number.isInteger(uid) || !Number.isInteger(gid)) throw new Error(`${layout}: User ${user}: must be numbers`);
  return { user: uid ?? 0, group: gid };
}
