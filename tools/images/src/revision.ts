import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "./downloads/run.js";

/** State of the repository that images are built from. */
export interface Revision {
  /** Commit, with `-dirty` if files differ from it; undefined outside of a Git repository. */
  readonly commit: string | undefined;
  /** Time of the commit in the form of RFC 3339. */
  readonly created: string;
  readonly version: string;
  /** Address of the repository. */
  readonly source: string;
  readonly licence: string;
}

/**
 * Returns the revision of a working tree.
 *
 * @param env `SOURCE_DATE_EPOCH`, seconds since 1970, takes precedence over the time of the commit. Source:
 *   reproducible-builds.org
 */
export async function readRevision(root: string, env = process.env): Promise<Revision> {
  const git = (...args: string[]): Promise<string | undefined> =>
    run("git", args, root).then(
      (output) => output.trim(),
      () => undefined,
    );
  const commit = await git("rev-parse", "HEAD");
  const isDirty = commit !== undefined && (await git("status", "--porcelain")) !== "";
  const seconds = Number(env["SOURCE_DATE_EPOCH"] ?? (await git("log", "-1", "--format=%ct")) ?? 0);
  if (!Number.isInteger(seconds) || seconds < 0) throw new Error("SOURCE_DATE_EPOCH: must be a number of seconds");
  const { homepage, license } = await readManifest(join(root, "package.json"));
  return {
    commit: isDirty ? `${commit}-dirty` : commit,
    created: new Date(seconds * 1000).toISOString().replace(".000Z", "Z"),
    version: (await readManifest(join(root, "apps/istiod/package.json"))).version,
    source: homepage.replace(/#.*/, ""),
    licence: license,
  };
}

async function readManifest(file: string) {
  return JSON.parse(await readFile(file, "utf8")) as {
    readonly version: string;
    readonly homepage: string;
    readonly license: string;
  };
}
