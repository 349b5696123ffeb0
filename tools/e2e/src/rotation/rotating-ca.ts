import { generateKeyPairSync, type KeyObject, type X509Certificate } from "node:crypto";
import { mint, type Minted, mintRevocationList, uri } from "@istiod/ca/testing";
import { MountedFiles } from "../mounted-files.js";

const lifetimeMs = 30 * 24 * 3600_000;

/** The signing certificate of a CA with its root. They are the same where the root signs leaves. */
interface Signer {
  readonly root: Minted;
  readonly issuer: Minted;
}

/** A plugged-in CA, whose files change as the Secret `cacerts` does. */
export class RotatingCa {
  readonly directory: string;
  readonly #files: MountedFiles;
  #signer: Signer;
  #next: Signer | undefined;
  #roots: readonly Minted[];
  #revocationLists = "";
  #issued = 0;

  private constructor(directory: string, signer: Signer) {
    this.directory = directory;
    this.#files = new MountedFiles(directory);
    this.#signer = signer;
    this.#roots = [signer.root];
  }

  /** Creates the files of an intermediate with its root, with keys on P-256. */
  static async create(directory: string): Promise<RotatingCa> {
    const root = await newCa("root 0");
    const ca = new RotatingCa(directory, { root, issuer: await newCa("intermediate 0", { issuer: root }) });
    await ca.#write();
    return ca;
  }

  /** The root certificates, in PEM. */
  get roots(): string {
    return this.#roots.map(({ pem }) => pem).join("");
  }

  /** The published revocation lists, in PEM. Empty: none is published. */
  get revocationLists(): string {
    return this.#revocationLists;
  }

  /** Reports whether the current signing certificate has issued a certificate. */
  hasIssued(certificate: X509Certificate): boolean {
    return certificate.verify(this.#signer.issuer.certificate.publicKey);
  }

  /** Replaces the intermediate by another one of the same root. */
  async renewIntermediate(): Promise<void> {
    const { root } = this.#signer;
    this.#signer = { root, issuer: await newCa(`intermediate ${++this.#issued}`, { issuer: root }) };
    await this.#write();
  }

  /** Trusts the root of a new intermediate in addition. The current one still signs. */
  async addRoot(): Promise<void> {
    const root = await newCa(`root ${++this.#issued}`);
    await this.#add({ root, issuer: await newCa(`intermediate ${this.#issued}`, { issuer: root }) });
  }

  /** Trusts the root of another CA in addition, which signs leaves itself, with an RSA key. */
  async addOtherCa(): Promise<void> {
    const { privateKey: key } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const root = await newCa(`other CA ${++this.#issued}`, { key });
    await this.#add({ root, issuer: root });
  }

  /** Signs by what was added last. */
  async signByAdded(): Promise<void> {
    if (this.#next === undefined) throw new Error("no root was added");
    this.#signer = this.#next;
    await this.#write();
  }

  /** Trusts the signing root alone. */
  async removeOldRoot(): Promise<void> {
    this.#roots = [this.#signer.root];
    this.#next = undefined;
    await this.#write();
  }

  /** Issues a certificate outside of istiod, as that of a workload whose key is stolen. */
  async issue(identity: string): Promise<{ readonly cert: string; readonly key: string; readonly serial: string }> {
    const { root, issuer } = this.#signer;
    const leaf = await mint({ issuer, subject: "CN=stolen", names: [uri(identity)], notAfter: lifetimeMs });
    const cert = leaf.pem + (issuer === root ? "" : issuer.pem);
    return { cert, key: leaf.keyPem, serial: leaf.certificate.serialNumber };
  }

  /** Publishes revocation lists of the signing certificate and its root, of which the former revokes a certificate. */
  async revoke(serial: string): Promise<void> {
    const { root, issuer } = this.#signer;
    const options = { revoked: [serial], nextUpdate: lifetimeMs };
    const lists = [await mintRevocationList(issuer, options)];
    if (issuer !== root) lists.push(await mintRevocationList(root, { nextUpdate: lifetimeMs }));
    this.#revocationLists = lists.join("");
    await this.#write();
  }

  async #add(next: Signer): Promise<void> {
    this.#next = next;
    this.#roots = [this.#signer.root, next.root];
    await this.#write();
  }

  #write(): Promise<void> {
    const { root, issuer } = this.#signer;
    return this.#files.write({
      "ca-cert.pem": issuer.pem,
      "ca-key.pem": issuer.keyPem,
      "cert-chain.pem": issuer === root ? root.pem : issuer.pem + root.pem,
      "root-cert.pem": this.roots,
      ...(this.#revocationLists === "" ? {} : { "ca-crl.pem": this.#revocationLists }),
    });
  }
}

function newCa(name: string, options: { readonly issuer?: Minted; readonly key?: KeyObject } = {}): Promise<Minted> {
  return mint({ ca: true, subject: `CN=${name}`, notAfter: lifetimeMs, ...options });
}
