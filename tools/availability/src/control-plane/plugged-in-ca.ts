import type { KeyObject } from "node:crypto";
import { mint, type Minted } from "@istiod/ca/testing";
import { MountedFiles } from "@istiod/e2e";

const lifetimeMs = 30 * 24 * 3600_000;

/** A plugged-in CA in a directory, as the Secret `cacerts` is mounted: an intermediate with its root. */
export class PluggedInCa {
  readonly directory: string;
  readonly #files: MountedFiles;
  #root: Minted;
  #intermediate: Minted;
  #roots: readonly Minted[];
  #issued = 0;

  private constructor(directory: string, root: Minted, intermediate: Minted) {
    this.directory = directory;
    this.#files = new MountedFiles(directory);
    this.#root = root;
    this.#intermediate = intermediate;
    this.#roots = [root];
  }

  static async create(directory: string): Promise<PluggedInCa> {
    const root = await newRoot();
    const ca = new PluggedInCa(directory, root, await newIntermediate(root, 0));
    await ca.#write();
    return ca;
  }

  /** The root certificates, in PEM. */
  get rootsPem(): string {
    return this.#roots.map(({ pem }) => pem).join("");
  }

  /** The public key that verifies certificates of the current intermediate. */
  get intermediateKey(): KeyObject {
    return this.#intermediate.certificate.publicKey;
  }

  /** Replaces the intermediate by another one of the same root. */
  async renewIntermediate(): Promise<void> {
    this.#intermediate = await newIntermediate(this.#root, ++this.#issued);
    await this.#write();
  }

  /** Trusts another root in addition. The first one still signs. */
  async addRoot(): Promise<void> {
    const root = await newRoot();
    this.#roots = [this.#root, root];
    await this.#write();
  }

  /** Signs with an intermediate of the root that was added. */
  async signWithAddedRoot(): Promise<void> {
    const added = this.#roots.at(-1) ?? this.#root;
    this.#root = added;
    this.#intermediate = await newIntermediate(added, ++this.#issued);
    await this.#write();
  }

  /** Trusts the signing root alone. */
  async removeOldRoot(): Promise<void> {
    this.#roots = [this.#root];
    await this.#write();
  }

  #write(): Promise<void> {
    return this.#files.write({
      "ca-cert.pem": this.#intermediate.pem,
      "ca-key.pem": this.#intermediate.keyPem,
      "cert-chain.pem": this.#intermediate.pem + this.#root.pem,
      "root-cert.pem": this.rootsPem,
    });
  }
}

function newRoot(): Promise<Minted> {
  return mint({ ca: true, subject: `CN=root ${Date.now()}`, notAfter: lifetimeMs });
}

function newIntermediate(issuer: Minted, number: number): Promise<Minted> {
  return mint({ ca: true, subject: `CN=intermediate ${number}`, issuer, notAfter: lifetimeMs });
}
