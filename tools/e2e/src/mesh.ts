import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findEnvoy } from "@istiod/envoy-binary";
import type { Agent } from "@istiod/pilot-agent";
import { type Application, type Seen, startApplication } from "./application.js";
import { type Answered, call, type CallOptions } from "./call.js";
import { eventually } from "./eventually.js";
import {
  type Istiod,
  type IstiodPlaces,
  type LogLine,
  refusalsIn,
  startIstiodInside,
  startIstiodProcess,
} from "./istiod.js";
import { kubernetesObjects } from "./kubernetes-objects.js";
import { acknowledged, readStatus } from "./proxy-status.js";
import { issueToken, startProxy } from "./proxy.js";
import { claimSubnet } from "./subnet.js";
import { applicationPort, place, servicePort, type Workload, type WorkloadOptions } from "./workload.js";

export interface MeshOptions {
  readonly workloads: readonly WorkloadOptions[];
  /** Istio's objects, YAML. `{{name}}` is a workload's address; `{{name.outbound}}` where it calls out. */
  readonly objects?: string;
  /** Fields of the mesh configuration, YAML. */
  readonly meshConfig?: string;
  /** Whether istiod runs inside the test or as a process that can be killed. Default: inside. */
  readonly istiod?: "inside" | "process";
  /** Whether Envoys ask for differences or for the whole state. Default: differences. */
  readonly delta?: boolean;
}

/** A mesh on this machine: istiod, applications, and a real Envoy beside each. */
export interface Mesh {
  readonly envoy: string;
  /** Everything that the mesh keeps on disk. */
  readonly work: string;
  readonly istiod: { readonly address: string; kill(): Promise<void>; start(): Promise<void> };
  workload(name: string): Workload;
  /** Calls from beside a workload: its proxy routes by the URL's host, and listens on the URL's port. */
  call(from: string, url: string, options?: CallOptions): Promise<Answered>;
  /** Calls a workload, or a gateway, at its own address. */
  enter(at: string, url: string, options?: CallOptions): Promise<Answered>;
  /** What the application of a workload was asked, oldest first. */
  seen(name: string): readonly Seen[];
  /** Ends a workload's application, as a crash would. */
  crash(name: string): Promise<void>;
  /** Writes a file of objects, and waits until istiod has read it and every proxy has acknowledged what followed. */
  apply(file: string, objects: string): Promise<void>;
  /** A statistic of a workload's Envoy. */
  stat(name: string, stat: string): Promise<number>;
  /** What istiod logged, since its last start. */
  lines(): readonly LogLine[];
  /** What proxies refused. */
  refusals(): readonly string[];
  close(): Promise<void>;
}

/** Starts a mesh; resolves when all proxies are ready. @throws Error where there is no Envoy */
export async function startMesh({
  workloads: options,
  objects = "",
  meshConfig = "",
  istiod: where = "inside",
  delta = true,
}: MeshOptions): Promise<Mesh> {
  const envoy = await findEnvoy();
  if (!envoy) throw new Error("no Envoy: ask whyNoEnvoy() first");
  const subnet = await claimSubnet();
  const work = await mkdtemp(join(tmpdir(), "istiod-e2e-"));
  const places: IstiodPlaces = { address: subnet.address(253), config: join(work, "config"), work };
  const workloads = options.map((o, n) => place(o, subnet.address(n + 1), subnet.outbound(n + 1)));
  const applications = new Map<string, Application>();
  const agents = new Map<string, Agent>();
  const startIstiod = where === "process" ? startIstiodProcess : startIstiodInside;
  let istiod: Istiod | undefined;
  let writes = 0;

  const workload = (name: string): Workload =>
    workloads.find((w) => w.name === name) ?? fail(`no workload ${name} in this mesh`);
  const withAddresses = (text: string): string =>
    text.replaceAll(/\{\{([\w-]+)(\.outbound)?\}\}/g, (_, name: string, out?: string) =>
      out ? workload(name).outbound : workload(name).address,
    );
  const write = async (file: string, text: string): Promise<void> => {
    await writeFile(join(work, "being-written"), text);
    await rename(join(work, "being-written"), join(places.config, `${file}.yaml`));
  };
  const close = async (): Promise<void> => {
    await Promise.allSettled([...agents.values()].map((a) => a.terminate()));
    await Promise.allSettled([...applications.values()].map((a) => a.close()));
    await istiod?.kill();
    subnet.release();
    await rm(work, { recursive: true, force: true });
  };

  try {
    await mkdir(places.config, { recursive: true });
    await writeFile(join(work, "mesh.yaml"), `${meshDefaults}${meshConfig}`);
    await write("workloads", kubernetesObjects(workloads, subnet));
    await write("objects", withAddresses(objects));
    await write("marker", marker(0));
    for (const w of workloads) await issueToken(places, w, randomBytes(32).toString("base64url"));
    istiod = await startIstiod(places);
    await Promise.all(
      workloads.map(async (w) => {
        if (w.proxy !== "router")
          applications.set(
            w.name,
            await startApplication({ ...w, port: w.proxy === "none" ? servicePort : applicationPort }),
          );
        if (w.proxy !== "none") agents.set(w.name, await startProxy(w, places, { envoy, delta }));
      }),
    );
  } catch (error) {
    await close();
    throw error;
  }

  return {
    envoy,
    work,
    istiod: {
      address: places.address,
      kill: async () => {
        await istiod?.kill();
        istiod = undefined;
      },
      start: async () => {
        istiod = await startIstiod(places);
      },
    },
    workload,
    call: (from, url, o) => call(workload(from).outbound, url, o),
    enter: (at, url, o) => call(workload(at).address, url, o),
    seen: (name) => applications.get(name)?.seen ?? fail(`${name} has no application`),
    crash: (name) => applications.get(name)?.close() ?? fail(`${name} has no application`),
    apply: async (file, text) => {
      await write(file, withAddresses(text));
      await write("marker", marker(++writes));
      await eventually("istiod has read what was written", async () =>
        (await (await fetch(`http://${places.address}:8080/debug/registryz`)).text()).includes(
          `revision-${writes}.marker`,
        ),
      );
      let quiet = 0;
      await eventually("every proxy has acknowledged", async () => {
        quiet = acknowledged(await readStatus(places.address)) ? quiet + 1 : 0;
        return quiet >= 5;
      });
    },
    stat: async (name, stat) => {
      const { text } = await call(
        workload(name).address,
        `http://envoy:15000/stats?filter=${encodeURIComponent(`^${stat.replaceAll(/[.|^$]/g, "\\$&")}$`)}`,
      );
      return Number(/: (\d+)/.exec(text)?.[1] ?? 0);
    },
    lines: () => istiod?.lines ?? [],
    refusals: () => refusalsIn(istiod?.lines ?? []),
    close,
  };
}

/** Why a mesh cannot be started on this machine; undefined where it can. */
export async function whyNoEnvoy(): Promise<string | undefined> {
  return (await findEnvoy()) ? undefined : "no Envoy: set ENVOY_PATH, or run `npx istiod-envoy install`";
}

/** Applications learn who called them from the header that the proxy in front of them sets. */
export const meshDefaults = `accessLogFile: ""
defaultConfig:
  proxyHeaders:
    forwardedClientCert: SANITIZE_SET
`;

/** An object that no proxy can see, by which one can tell what istiod has read. */
export function marker(n: number): string {
  return `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: marker, namespace: marker}
spec:
  hosts: [revision-${n}.marker]
  exportTo: ["."]
  ports: [{number: 1, name: tcp, protocol: TCP}]
  resolution: NONE
`;
}

function fail(message: string): never {
  throw new Error(message);
}
