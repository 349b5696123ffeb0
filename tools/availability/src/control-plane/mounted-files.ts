import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Files in a directory that change all at once, as a kubelet mounts Secrets and ConfigMaps: each is a link into
 * `..data`, which is a link that a rename replaces.
 */
export class MountedFiles {
  readonly directory: string;
  #version = 0;

  constructor(directory: string) {
    this.directory = directory;
  }

  async write(files: Readonly<Record<string, string>>): Promise<void> {
    const version = `..version-${this.#version++}`;
    await mkdir(join(this.directory, version), { recursive: true });
    for (const [name, text] of Object.entries(files))
      await writeFile(join(this.directory, version, name), text, { mode: 0o600 });
    const temporary = join(this.directory, "..data_tmp");
    await symlink(version, temporary);
    await rename(temporary, join(this.directory, "..data"));
    if (this.#version === 1)
      for (const name of Object.keys(files)) await symlink(join("..data", name), join(this.directory, name));
    else await rm(join(this.directory, `..version-${this.#version - 2}`), { recursive: true });
  }
}
