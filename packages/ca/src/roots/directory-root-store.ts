import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CaError } from "../errors.js";
import type { RootStore, StoredRoot } from "./root-store.js";

const certificateFile = "ca-cert.pem";
const keyFile = "ca-key.pem";

/**
 * Stores a root in a dedicated directory, as `ca-cert.pem` and `ca-key.pem`, readable by the owner only.
 *
 * Creation is atomic: the files are written to a temporary directory, which is then renamed. The rename fails if
 * another process has stored a root. Replacing a root only writes the certificate, because the key stays the same.
 */
export class DirectoryRootStore implements RootStore {
  readonly description: string;

  constructor(readonly directory: string) {
    this.description = `directory ${directory}`;
  }

  async load(): Promise<StoredRoot | undefined> {
    const [certificate, privateKey] = await Promise.all([this.#read(certificateFile), this.#read(keyFile)]);
    if (certificate === undefined && privateKey === undefined) return undefined;
    if (certificate === undefined) throw this.#missing(certificateFile, keyFile);
    if (privateKey === undefined) throw this.#missing(keyFile, certificateFile);
    return { certificate, privateKey };
  }

  async create(root: StoredRoot): Promise<boolean> {
    const parent = dirname(this.directory);
    try {
      await mkdir(parent, { recursive: true });
      const draft = await mkdtemp(join(parent, `.${basename(this.directory)}-`));
      try {
        await writeFile(join(draft, keyFile), root.privateKey, { mode: 0o600 });
        await writeFile(join(draft, certificateFile), root.certificate, { mode: 0o600 });
        await rename(draft, this.directory);
        return true;
      } catch (error) {
        await rm(draft, { recursive: true, force: true });
        if (isTaken(error)) return false;
        throw error;
      }
    } catch (error) {
      throw CaError.from(error, "store", `${this.description}: the root cannot be stored`);
    }
  }

  async replace(current: StoredRoot, next: StoredRoot): Promise<boolean> {
    const kept = await this.load();
    if (kept?.certificate !== current.certificate || kept.privateKey !== next.privateKey) return false;
    const draft = join(this.directory, `.${certificateFile}-${randomBytes(6).toString("hex")}`);
    try {
      await writeFile(draft, next.certificate, { mode: 0o600 });
      await rename(draft, join(this.directory, certificateFile));
      return true;
    } catch (error) {
      await rm(draft, { force: true });
      throw CaError.from(error, "store", `${this.description}: the renewed root cannot be stored`);
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
    return new CaError("incomplete", `${this.description}: ${missing} is missing although ${there} exists`);
  }
}

function isTaken(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOTEMPTY" || code === "EEXIST";
}
