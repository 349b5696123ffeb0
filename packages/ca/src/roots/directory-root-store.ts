import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CaError } from "../errors.js";
import type { RootStore, StoredRoot } from "./root-store.js";

const CERTIFICATE_FILE = "ca-cert.pem";
const KEY_FILE = "ca-key.pem";

/**
 * Keeps a root in a directory of its own: `ca-cert.pem` and `ca-key.pem`, readable by the owner only.
 *
 * Making one is atomic: both files are written beside the directory, which is then renamed into place; that fails where
 * somebody else's root already is. Replacing exchanges the certificate alone, as the key stays.
 */
export class DirectoryRootStore implements RootStore {
  readonly description: string;

  constructor(readonly directory: string) {
    this.description = `directory ${directory}`;
  }

  async load(): Promise<StoredRoot | undefined> {
    const [certificate, privateKey] = await Promise.all([this.#read(CERTIFICATE_FILE), this.#read(KEY_FILE)]);
    if (certificate === undefined && privateKey === undefined) return undefined;
    if (certificate === undefined) throw this.#missing(CERTIFICATE_FILE, KEY_FILE);
    if (privateKey === undefined) throw this.#missing(KEY_FILE, CERTIFICATE_FILE);
    return { certificate, privateKey };
  }

  async create(root: StoredRoot): Promise<boolean> {
    const parent = dirname(this.directory);
    try {
      await mkdir(parent, { recursive: true });
      const draft = await mkdtemp(join(parent, `.${basename(this.directory)}-`));
      try {
        await writeFile(join(draft, KEY_FILE), root.privateKey, { mode: 0o600 });
        await writeFile(join(draft, CERTIFICATE_FILE), root.certificate, { mode: 0o600 });
        await rename(draft, this.directory);
        return true;
      } catch (error) {
        await rm(draft, { recursive: true, force: true });
        if (isTaken(error)) return false;
        throw error;
      }
    } catch (error) {
      throw CaError.from(error, "store", `${this.description}: the root cannot be kept`);
    }
  }

  async replace(current: StoredRoot, next: StoredRoot): Promise<boolean> {
    const kept = await this.load();
    if (kept?.certificate !== current.certificate || kept.privateKey !== next.privateKey) return false;
    const draft = join(this.directory, `.${CERTIFICATE_FILE}-${randomBytes(6).toString("hex")}`);
    try {
      await writeFile(draft, next.certificate, { mode: 0o600 });
      await rename(draft, join(this.directory, CERTIFICATE_FILE));
      return true;
    } catch (error) {
      await rm(draft, { force: true });
      throw CaError.from(error, "store", `${this.description}: the renewed root cannot be kept`);
    }
  }

  async #read(file: string): Promise<string | undefined> {
    try {
      return await readFile(join(this.directory, file), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw CaError.from(error, "store", `${this.description}: ${file} cannot be read`);
    }
  }

  #missing(missing: string, there: string): CaError {
    return new CaError("incomplete", `${this.description}: ${missing} is missing although ${there} is there`);
  }
}

function isTaken(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOTEMPTY" || code === "EEXIST";
}
