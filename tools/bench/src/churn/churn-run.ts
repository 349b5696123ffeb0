import { loadavg } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import { lines } from "../fleet/table.js";
import type { ChangeKind } from "../mesh/changes.js";
import { apply } from "../mesh/directory.js";
import type { Mesh } from "../mesh/mesh.js";
import type { IstiodProcess } from "../server/istiod-process.js";
import { cpuSeconds } from "../server/usage.js";
import type { ChurningFleet } from "./fleet.js";
import { randomChange } from "./random-change.js";
import { type Sample, sampleColumns } from "./sample.js";

export interface ChurnOptions {
  readonly minutes: number;
  readonly proxies: number;
  readonly services: number;
  readonly namespaces: number;
  /** Changes per second. */
  readonly rate: number;
  readonly seed: number;
  /** Limit of the growth of the heap, in percent. */
  readonly growth: number;
}

/** The period of a run in which the mesh changes. */
export class ChurnRun {
  readonly changes = new Map<ChangeKind, number>();
  readonly samples: Sample[] = [];
  readonly #options: ChurnOptions;
  readonly #mesh: Mesh;
  readonly #directory: string;
  readonly #fleet: ChurningFleet;
  readonly #server: IstiodProcess;
  readonly #startedAt = performance.now();
  #made = 0;

  constructor(options: ChurnOptions, mesh: Mesh, directory: string, fleet: ChurningFleet, server: IstiodProcess) {
    this.#options = options;
    this.#mesh = mesh;
    this.#directory = directory;
    this.#fleet = fleet;
    this.#server = server;
  }

  async sample(request: "report" | "collect"): Promise<Sample> {
    const { rss, heap, external, code } = await this.#server.heap(request);
    const { responses, bytes } = this.#fleet.counts;
    return {
      minute: this.#seconds() / 60,
      rss,
      heap,
      external,
      code,
      cpuSeconds: cpuSeconds(this.#server.pid),
      changes: this.#made,
      responses,
      bytesSent: bytes,
      load: loadavg()[0] ?? 0,
    };
  }

  /**
   * Changes the mesh and disturbs the fleet for `minutes`. Returns the sample at the end of the first part, which lasts
   * three minutes, or a third of a shorter run.
   */
  async run(): Promise<Sample> {
    const { minutes, rate } = this.#options;
    const total = minutes * 60;
    const firstPart = Math.min(180, total / 3);
    const startedAt = this.#seconds();
    const elapsed = (): number => this.#seconds() - startedAt;
    let due = 1;
    let last = 0;
    let shown = -Infinity;
    let early: Sample | undefined;
    while (elapsed() < total) {
      // On a machine that cannot keep up, a backlog of more than one second of changes is dropped.
      due = Math.min(due + (elapsed() - last) * rate, rate);
      last = elapsed();
      for (; due >= 1; due--) await this.#change();
      if (early === undefined && elapsed() >= firstPart) early = await this.sample("collect");
      if (elapsed() - shown >= Math.min(30, total / 10)) {
        shown = elapsed();
        const sample = await this.sample("report");
        this.samples.push(sample);
        console.log(lines(sampleColumns, [sample])[1]);
      }
      await wait(20);
    }
    return early ?? this.sample("collect");
  }

  async #change(): Promise<void> {
    const { rate } = this.#options;
    const change = randomChange(this.#mesh);
    await apply(this.#directory, change);
    this.changes.set(change.kind, (this.changes.get(change.kind) ?? 0) + 1);
    if (this.#made % rate === 0 && this.#mesh.random.chance(0.5)) this.#fleet.reconnectOne();
    if (this.#made % (10 * rate) === 0) this.#fleet.pauseOne();
    this.#made++;
  }

  #seconds(): number {
    return (performance.now() - this.#startedAt) / 1000;
  }
}
