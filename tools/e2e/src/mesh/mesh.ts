import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Agent } from "@istiod/pilot-agent";
import { Closers } from "@istiod/runtime";
import { requireEnvoy } from "../envoy/require-envoy.js";
import { statUrl, statValue } from "../envoy/stats.js";
import {
  type IstiodPlaces,
  type LogLine,
  refusalsIn,
  RestartableIstiod,
  startIstiodInProcess,
  startIstiodProcess,
} from "../istiod/istiod.js";
import { allStarted } from "./all-started.js";
import { type Application, type Seen, startApplication } from "./application.js";
import { type Answered, call, type CallOptions } from "./call.js";
import { ConfigDirectory } from "./config-directory.js";
import { kubernetesObjects } from "./kubernetes-objects.js";
import { issueToken, type ProxyOptions, startProxy } from "./proxy.js";
import { claimSubnet } from "./subnet.js";
import { createWorkDirectory } from "./work-directory.js";
import { applicationPort, place, servicePort, type Workload, workloadNamed, type WorkloadOptions } from "./workload.js";

export interface MeshOptions {
  readonly workloads: readonly WorkloadOptions[];
  /** Istio objects, YAML. `{{name}}` expands to a workload's address, `{{name.outbound}}` to its outbound address. */
  readonly objects?: string;
  /** Fields of the mesh configuration, YAML. */
  readonly meshConfig?: string;
  /** Runs istiod in the process of the test, or in one of its own that can be killed. Default: `in-process`. */
  readonly istiod?: "in-process" | "process";
  /** Directory of a plugged-in CA. Default: istiod creates a self-signed root. */
  readonly pluggedInCa?: string;
  /** Further environment variables of istiod. */
  readonly istiodEnv?: Readonly<Record<string, string>>;
  /** Makes istiod store the last good versions of policies. Default: false. */
  readonly storesPolicies?: boolean;
  /** Makes Envoys use delta xDS; otherwise state of the world. Default: true. */
  readonly delta?: boolean;
}

/** A mesh on this machine: istiod, applications, and a real Envoy for each of them. */
export interface Mesh {
  readonly envoy: string;
  /** The temporary directory that holds all files of the mesh. */
  readonly work: string;
  readonly istiod: { readonly address: string; kill(): Promise<void>; start(): Promise<void> };
  workload(name: string): Workload;
  /** Sends a request through a workload's proxy, which routes by the URL's host and listens on the URL's port. */
  call(from: string, url: string, options?: CallOptions): Promise<Answered>;
  /** Sends a request to the address of a workload or gateway. */
  enter(at: string, url: string, options?: CallOptions): Promise<Answered>;
  /** Returns the requests that a workload's application received, oldest first. */
  seen(name: string): readonly Seen[];
  /** Closes a workload's application and its connections, as a crash would. */
  crash(name: string): Promise<void>;
  /** Writes a file of objects, and waits until istiod has read it and every proxy has acknowledged the result. */
  apply(file: string, objects: string): Promise<void>;
  /** Writes a file of objects without waiting. */
  write(file: string, objects: string): Promise<void>;
  /** Replaces the fields of the mesh configuration. Does not wait for the result. */
  configure(meshConfig: string): Promise<void>;
  /** Returns a statistic of a workload's Envoy; 0 if it has none of that name. */
  stat(name: string, stat: string): Promise<number>;
  /** Returns the response of a workload's Envoy to a GET of its admin interface. */
  admin(name: string, path: string): Promise<string>;
  /** Returns istiod's log since its last start. */
  lines(): readonly LogLine[];
  /** Returns the resources that proxies rejected, one line each. */
  refusals(): readonly string[];
  close(): Promise<void>;
}

/**
 * Starts a mesh and resolves when all proxies are ready.
 *
 * @throws Error if there is no Envoy; call `whyNoEnvoy` first
 */
export async function startMesh(options: MeshOptions): Promise<Mesh> {
  const envoy = await requireEnvoy();
  const closers = new Closers();
  return closers.closeOnError(async () => {
    const subnet = await claimSubnet();
    closers.defer(() => subnet.release());
    const work = await createWorkDirectory(closers);
    const places: IstiodPlaces = {
      address: subnet.address(253),
      config: join(work, "config"),
      work,
      ...(options.storesPolicies === true && { stateDir: join(work, "state") }),
      ...(options.pluggedInCa !== undefined && { pluggedInCa: options.pluggedInCa }),
      ...(options.istiodEnv !== undefined && { env: options.istiodEnv }),
    };
    const workloads = options.workloads.map((o, n) => place(o, subnet.address(n + 1), subnet.outbound(n + 1)));
    const config = new ConfigDirectory(places, (text) => expandAddresses(text, workloads));
    await config.create({
      workloads: kubernetesObjects(workloads, subnet),
      objects: options.objects ?? "",
      meshConfig: options.meshConfig ?? "",
    });
    for (const w of workloads) await issueToken(places, w, randomBytes(32).toString("base64url"));
    const istiod = new RestartableIstiod(
      places,
      options.istiod === "process" ? startIstiodProcess : startIstiodInProcess,
    );
    closers.defer(() => istiod.kill());
    await istiod.start();
    const applications = await startWorkloads(workloads, places, { envoy, delta: options.delta ?? true }, closers);
    return runningMesh({ envoy, work, workloads, applications, istiod, config, close: () => closers.close() });
  });
}

/** Starts the applications and proxies of all workloads at once. Returns the applications by workload. */
async function startWorkloads(
  workloads: readonly Workload[],
  istiod: IstiodPlaces,
  proxyOptions: ProxyOptions,
  closers: Closers,
): Promise<ReadonlyMap<string, Application>> {
  const applications = new Map<string, Application>();
  const agents: Agent[] = [];
  closers.defer(() => Promise.allSettled([...applications.values()].map((application) => application.close())));
  closers.defer(() => Promise.allSettled(agents.map((agent) => agent.terminate())));
  await allStarted(
    workloads.map(async (w) => {
      if (w.proxy !== "router" && w.servesItself !== true) {
        const port = w.proxy === "none" ? servicePort : applicationPort;
        applications.set(w.name, await startApplication({ ...w, port }));
      }
      if (w.proxy !== "none") agents.push(await startProxy(w, istiod, proxyOptions));
    }),
  );
  return applications;
}

interface MeshParts extends Pick<Mesh, "envoy" | "work" | "close"> {
  readonly workloads: readonly Workload[];
  readonly applications: ReadonlyMap<string, Application>;
  readonly istiod: RestartableIstiod;
  readonly config: ConfigDirectory;
}

function runningMesh({ envoy, work, workloads, applications, istiod, config, close }: MeshParts): Mesh {
  const workload = (name: string): Workload => workloadNamed(workloads, name);
  const application = (name: string): Application => {
    const found = applications.get(name);
    if (found === undefined) throw new Error(`workload ${name} has no application`);
    return found;
  };
  return {
    envoy,
    work,
    istiod,
    workload,
    call: (from, url, o) => call(workload(from).outbound, url, o),
    enter: (at, url, o) => call(workload(at).address, url, o),
    seen: (name) => application(name).seen,
    crash: (name) => application(name).close(),
    apply: (file, objects) => config.apply(file, objects),
    write: (file, objects) => config.write(file, expandAddresses(objects, workloads)),
    configure: (meshConfig) => config.configure(meshConfig),
    admin: async (name, path) => (await call(workload(name).address, `http://envoy:15000${path}`)).text,
    stat: async (name, stat) => {
      const { text } = await call(workload(name).address, statUrl(stat));
      return statValue(text);
    },
    lines: () => istiod.lines,
    refusals: () => refusalsIn(istiod.lines),
    close,
  };
}

function expandAddresses(text: string, workloads: readonly Workload[]): string {
  return text.replaceAll(/\{\{([\w-]+)(\.outbound)?\}\}/g, (_, name: string, outbound?: string) => {
    const workload = workloadNamed(workloads, name);
    return outbound === undefined ? workload.address : workload.outbound;
  });
}
