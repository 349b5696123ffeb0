import { mkdtemp, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mint, type Minted, uri } from "@istiod/ca/testing";
import { claimSubnet, rejectionsIn, startIstiodInProcess, type Subnet } from "@istiod/e2e";
import { Channel, Program } from "./channel.js";
import type { Library } from "./libraries.js";

/** A server of the mesh. */
export interface ServerOptions {
  /** Its answer to calls, the label `version` of its endpoint, and its service account. */
  readonly name: string;
  /** Number of its address. */
  readonly at: number;
  /** `plain`: without xDS; `xds`: configured by it; `secure`: also with its credentials. Default: `plain`. */
  readonly mode?: "plain" | "xds" | "secure";
}

/** A client of the mesh. */
export interface ClientOptions {
  readonly secure?: boolean;
  /** Default: `xds:///echo.test.svc.cluster.local:7070`. */
  readonly target?: string;
  readonly region?: string;
}

const modeFlags = { plain: [], xds: ["--xds"], secure: ["--xds", "--secure"] } as const;

export const host = "echo.test.svc.cluster.local";
export const port = 7070;

/** Istiod with a directory of YAML, and clients and servers of gRPC libraries on loopback addresses. */
export class ProxylessMesh {
  readonly #work: string;
  readonly #subnet: Subnet;
  readonly #root: Minted;
  readonly #rejections: string[] = [];
  readonly #programs = new Set<Program>();
  /** Servers of Node that are configured by xDS bind all addresses, so that they need ports of their own. */
  readonly #firstPort = 20_000 + Math.floor(Math.random() * 10_000);
  #istiod: Awaited<ReturnType<typeof startIstiodInProcess>> | undefined;

  private constructor(work: string, subnet: Subnet, root: Minted) {
    this.#work = work;
    this.#subnet = subnet;
    this.#root = root;
  }

  static async start(): Promise<ProxylessMesh> {
    const work = await mkdtemp(join(tmpdir(), "proxyless-"));
    await mkdir(join(work, "config"));
    await writeFile(join(work, "mesh.yaml"), "trustDomain: cluster.local\n");
    const root = await mint({ ca: true, subject: "O=proxyless" });
    const mesh = new ProxylessMesh(work, await claimSubnet(), root);
    await mesh.startIstiod();
    return mesh;
  }

  async startIstiod(): Promise<void> {
    this.#istiod = await startIstiodInProcess({
      address: this.#subnet.address(1),
      config: join(this.#work, "config"),
      work: this.#work,
    });
  }

  async stopIstiod(): Promise<void> {
    this.#rejections.push(...rejectionsIn(this.#istiod?.lines ?? []));
    await this.#istiod?.kill();
    this.#istiod = undefined;
  }

  /** Resources that clients and servers rejected. */
  get rejections(): readonly string[] {
    return [...this.#rejections, ...rejectionsIn(this.#istiod?.lines ?? [])];
  }

  address(n: number): string {
    return this.#subnet.address(n);
  }

  /** Returns the port of the server at an address. */
  portAt(n: number): number {
    return this.#firstPort + n;
  }

  /** Writes a file of objects as a whole; without text, it removes it. */
  async write(name: string, yaml: string): Promise<void> {
    const file = join(this.#work, "config", `${name}.yaml`);
    if (yaml === "") return rm(file, { force: true });
    await writeFile(`${file}.partial`, yaml);
    await rename(`${file}.partial`, file);
  }

  async serve(library: Library, { name, at, mode = "plain" }: ServerOptions): Promise<Program> {
    const bootstrap = await this.#bootstrap(name, this.address(at));
    const args = ["serve", "--listen", `${this.address(at)}:${this.portAt(at)}`, "--name", name, ...modeFlags[mode]];
    return this.#run(new Program(library, args, bootstrap));
  }

  async client(library: Library, options: ClientOptions = {}): Promise<Channel> {
    const { secure = false, target = `xds:///${host}:${port}`, region } = options;
    const bootstrap = await this.#bootstrap("client", this.address(100), region);
    return new Channel(
      this.#run(new Program(library, ["call", "--target", target, ...(secure ? ["--secure"] : [])], bootstrap)),
    );
  }

  async close(): Promise<void> {
    for (const program of this.#programs) await program.kill();
    await this.stopIstiod();
    this.#subnet.release();
    await rm(this.#work, { recursive: true, force: true });
  }

  #run(program: Program): Program {
    this.#programs.add(program);
    return program;
  }

  /** Writes a bootstrap file with a certificate of its own, and returns its path. */
  async #bootstrap(name: string, address: string, region = ""): Promise<string> {
    const directory = await mkdtemp(join(this.#work, `${name}-`));
    const leaf = await mint({
      issuer: this.#root,
      names: [uri(`spiffe://cluster.local/ns/test/sa/${name}`)],
      extendedKeyUsages: ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"],
    });
    const files = { certificate: "cert-chain.pem", key: "key.pem", root: "root-cert.pem" };
    await writeFile(join(directory, files.certificate), leaf.pem);
    await writeFile(join(directory, files.key), leaf.keyPem);
    await writeFile(join(directory, files.root), this.#root.pem);
    const bootstrap = {
      xds_servers: [
        {
          server_uri: `${this.address(1)}:15010`,
          channel_creds: [{ type: "insecure" }],
          server_features: ["xds_v3"],
        },
      ],
      node: {
        id: `sidecar~${address}~${name}.test~test.svc.cluster.local`,
        metadata: {
          GENERATOR: "grpc",
          NAMESPACE: "test",
          CLUSTER_ID: "Kubernetes",
          INSTANCE_IPS: address,
          LABELS: { app: name },
        },
        locality: { region },
      },
      certificate_providers: {
        default: {
          plugin_name: "file_watcher",
          config: {
            certificate_file: join(directory, files.certificate),
            private_key_file: join(directory, files.key),
            ca_certificate_file: join(directory, files.root),
            refresh_interval: "900s",
          },
        },
      },
      server_listener_resource_name_template: "xds.istio.io/grpc/lds/inbound/%s",
    };
    const file = join(directory, "grpc-bootstrap.json");
    await writeFile(file, JSON.stringify(bootstrap, null, 2));
    return file;
  }
}
