import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { shiftPorts } from "./ports.js";
import { shownPath } from "./screen.js";

/** The YAML that istiod reads: the user's directory, or a copy of it with other ports. */
export interface ServedConfig {
  /** The directory that istiod watches. */
  readonly directory: string;
  /** Takes over what was saved. */
  refresh(): Promise<void>;
  /** Replaces paths of served files by the user's, relative to the working directory. */
  translate(text: string): string;
}

/** Returns a user's directory as istiod reads it. @param copy directory for a copy, where one is needed */
export async function serveConfig(config: string, offset: number, copy: string): Promise<ServedConfig> {
  const shown = shownPath(config);
  const translate = (from: string) => (text: string) => text.replaceAll(`${from}/`, `${shown}/`);
  if (offset === 0) return { directory: config, refresh: () => Promise.resolve(), translate: translate(config) };
  await rm(copy, { recursive: true, force: true });
  await mkdir(copy, { recursive: true });
  const last = new Map<string, string>();
  const refresh = async (): Promise<void> => {
    const names = (await readdir(config)).filter(isYaml);
    for (const name of names) {
      const text = await readFile(join(config, name), "utf8").catch(() => undefined);
      if (text === undefined || text === last.get(name)) continue;
      last.set(name, text);
      await writeFile(join(copy, ".being-written"), shiftPorts(text, offset));
      await rename(join(copy, ".being-written"), join(copy, name));
    }
    for (const gone of [...last.keys()].filter((name) => !names.includes(name))) {
      last.delete(gone);
      await rm(join(copy, gone), { force: true });
    }
  };
  await refresh();
  return { directory: copy, refresh, translate: translate(copy) };
}

/** Reports whether istiod reads a file of this name. */
export function isYaml(name: string): boolean {
  return /^[^.].*\.ya?ml$/.test(name);
}
