import { mkdir, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Files in a directory that change all at once, as a kubelet mounts Secrets and ConfigMaps: each is a link into
 * `..data`, which is a link that a rename replaces.
 */
export class MountedFiles {
  readonly directory: string;
  readonly #names = new Set<string>();
  #version = 0;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** Replaces the files. Files of the former version that are not given disappear. */
  async write(files: Readonly<Record<string, string>>): Promise<void> {
    const version = `..version-${this.#version++}`;
    await mkdir(join(this.directory, version), { recursive: true });
    for (const [name, text] of Object.entries(files))
      await writeFile(join(this.directory, version, name), text, { mode: 0o600 });
    const data = join(this.directory, "..data");
    const former = await readlink(data).catch(() => undefined);
    const temporary = join(this.directory, "..data_tmp");
    await symlink(version, temporary);
    await rename(temporary, data);
    for (const name of Object.keys(files)) {
      if (this.#names.has(name)) continue;
      this.#names.add(name);
      // A file that exists is replaced, as where a volume covers a file of the image.
      await rm(join(this.directory, name), { force: true });
      await symlink(join("..data", name), join(this.directory, name));
    }
    if (former !== undefined) await rm(join(this.directory, former), { recursive: true });
  }
}
