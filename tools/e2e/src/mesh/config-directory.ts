import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { eventually } from "../eventually.js";
import type { IstiodPlaces } from "../istiod/istiod.js";
import { acknowledged, readStatus } from "../istiod/proxy-status.js";

/** Consecutive polls that must find every response acknowledged. */
const quietPolls = 5;

/** Initial contents of a mesh's configuration, YAML. */
export interface MeshConfigFiles {
  /** Kubernetes objects. */
  readonly workloads: string;
  /** Istio objects, with placeholders. */
  readonly objects: string;
  /** Fields of the mesh configuration in addition to {@link meshDefaults}. */
  readonly meshConfig?: string;
}

/** The directory of YAML that istiod watches. Each write is a rename, so istiod never reads half a file. */
export class ConfigDirectory {
  readonly #istiod: IstiodPlaces;
  readonly #expand: (text: string) => string;
  #revision = 0;

  /** @param expand replaces the placeholders in Istio objects */
  constructor(istiod: IstiodPlaces, expand: (text: string) => string) {
    this.#istiod = istiod;
    this.#expand = expand;
  }

  /** Creates the directory and its initial files. */
  async create({ workloads, objects, meshConfig = "" }: MeshConfigFiles): Promise<void> {
    await mkdir(this.#istiod.config, { recursive: true });
    await this.configure(meshConfig);
    await this.write("workloads", workloads);
    await this.write("objects", this.#expand(objects));
    await this.write("marker", marker(this.#revision));
  }

  /** Writes a file of objects, and waits until istiod has read it and every proxy has acknowledged the result. */
  async apply(file: string, objects: string): Promise<void> {
    await this.write(file, this.#expand(objects));
    const revision = ++this.#revision;
    await this.write("marker", marker(revision));
    const { address, debugAddress = address } = this.#istiod;
    await eventually("istiod has read the written objects", async () =>
      (await (await fetch(`http://${debugAddress}:8080/debug/registryz`)).text()).includes(
        `revision-${revision}.marker`,
      ),
    );
    let quiet = 0;
    await eventually("every proxy has acknowledged", async () => {
      quiet = acknowledged(await readStatus(debugAddress)) ? quiet + 1 : 0;
      return quiet >= quietPolls;
    });
  }

  /** Replaces the fields of the mesh configuration. */
  async configure(meshConfig: string): Promise<void> {
    await this.#replace(join(this.#istiod.work, "mesh.yaml"), `${meshDefaults}${meshConfig}`);
  }

  /** Writes a file as it is, without waiting. */
  async write(file: string, text: string): Promise<void> {
    await this.#replace(join(this.#istiod.config, `${file}.yaml`), text);
  }

  async #replace(path: string, text: string): Promise<void> {
    const temporary = join(this.#istiod.work, "being-written");
    await writeFile(temporary, text);
    await rename(temporary, path);
  }
}

/** Mesh configuration of every test: proxies pass the caller's identity on to the application. */
const meshDefaults = `accessLogFile: ""
defaultConfig:
  proxyHeaders:
    forwardedClientCert: SANITIZE_SET
`;

/** A ServiceEntry that no proxy can see. Its presence in /debug/registryz tells which revision istiod has read. */
function marker(revision: number): string {
  return `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: marker, namespace: marker}
spec:
  hosts: [revision-${revision}.marker]
  exportTo: ["."]
  ports: [{number: 1, name: tcp, protocol: TCP}]
  resolution: NONE
`;
}
