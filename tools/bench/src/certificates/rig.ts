import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { toBinary } from "@bufbuild/protobuf";
import { signingRequest } from "@istiod/ca/testing";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { Closers } from "@istiod/runtime";
import { writeTokens } from "../fleet/tokens.js";
import { writeObjects } from "../mesh/directory.js";
import { Mesh, type MeshOptions } from "../mesh/mesh.js";
import { nodeOf } from "../mesh/proxies.js";
import { type IstiodProcess, startIstiod } from "../server/istiod-process.js";
import { cpuSeconds, memory, resetPeak } from "../server/usage.js";
import { type AuthorityKind, createAuthority, type KeyType } from "./authorities.js";
import { type CallerProcess, startCaller } from "./caller-process.js";
import type { AgentOptions, CallerOrder, CallerReport } from "./messages.js";
import { watchReadiness } from "./readiness.js";

/** Requests that are made before the measurement. Callers use them in turns. */
const preparedRequests = 4;

export interface RigOptions {
  readonly mesh: MeshOptions;
  readonly authority: AuthorityKind;
  /** Type of the keys of the CA and of the requests. */
  readonly key: KeyType;
}

/** A report, with the cost of the order for istiod. */
export interface Measured extends CallerReport {
  /** CPU time of istiod. */
  readonly cpuSeconds: number;
  /** Peak memory of istiod in bytes. */
  readonly peakRss: number;
  /** Longest time of a request for `/ready`, in milliseconds. */
  readonly readyMs: number;
  /** Load of the machine, of the last minute. */
  readonly load: number;
}

/** An istiod with a CA and a small mesh, served in plaintext and over TLS, and callers in another process. */
export class CertificateRig {
  /** The proxies of the mesh. */
  readonly agents: readonly AgentOptions[];
  readonly istiod: IstiodProcess;
  /** Requests for certificates in PEM. */
  readonly requests: readonly string[];
  readonly #caller: CallerProcess;
  readonly #closers: Closers;

  private constructor(
    started: Pick<CertificateRig, "agents" | "istiod" | "requests">,
    caller: CallerProcess,
    closers: Closers,
  ) {
    this.agents = started.agents;
    this.istiod = started.istiod;
    this.requests = started.requests;
    this.#caller = caller;
    this.#closers = closers;
  }

  static async start({ mesh: meshOptions, authority, key }: RigOptions): Promise<CertificateRig> {
    const closers = new Closers();
    return closers.closeOnError(async () => {
      const work = await mkdtemp(join(tmpdir(), "istiod-certificates-"));
      closers.defer(() => rm(work, { recursive: true, force: true }));
      const mesh = new Mesh(meshOptions);
      const directory = join(work, "mesh");
      await writeObjects(directory, mesh.objects());
      const places = mesh.proxies();
      const tokens = await writeTokens(join(work, "tokens"), places);
      const files = await createAuthority(authority, key, work);
      const istiod = await startIstiod({
        directory,
        tlsTokens: tokens.directory,
        alsoPlaintext: true,
        ...files,
      });
      closers.defer(() => istiod.stop());
      const caller = startCaller();
      closers.defer(() => caller.stop());
      const requests = await Promise.all(Array.from({ length: preparedRequests }, () => signingRequest([], { key })));
      const agents = places.map((place) => ({ node: toBinary(NodeSchema, nodeOf(place)), token: tokens.of(place) }));
      return new CertificateRig({ istiod, agents, requests }, caller, closers);
    });
  }

  /** Carries out an order, and measures istiod meanwhile. */
  async measure(order: CallerOrder): Promise<Measured> {
    const { pid, http } = this.istiod;
    resetPeak(pid);
    const watch = watchReadiness(http);
    const before = cpuSeconds(pid);
    try {
      const report = await this.#caller.do(order);
      return {
        ...report,
        cpuSeconds: cpuSeconds(pid) - before,
        peakRss: memory(pid).peak,
        readyMs: await watch.stop(),
        load: loadavg()[0] ?? NaN,
      };
    } finally {
      await watch.stop();
    }
  }

  close(): Promise<void> {
    return this.#closers.close();
  }
}
