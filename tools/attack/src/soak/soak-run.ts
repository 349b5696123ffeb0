import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import {
  apply,
  type IstiodProcess,
  type LongTurn,
  Mesh,
  Random,
  randomChange,
  startIstiod,
  type Tokens,
  writeObjects,
  writeTokens,
} from "@istiod/bench";
import { Closers } from "@istiod/runtime";
import type { Attack } from "../attack.js";
import { isRunning, portsFrom, strangerAddress } from "../target/istiod-target.js";
import { probeReady } from "../target/ready-probe.js";
import { AttackThread } from "./attack-thread.js";
import { HonestProxies, type LostStream } from "./honest-proxies.js";
import type { ReadyAnswer } from "./ready-causes.js";

export interface SoakOptions {
  readonly minutes: number;
  readonly proxies: number;
  readonly services: number;
  /** Limit of V8's old generation in MiB. */
  readonly heapMiB: number;
  /** Changes of the mesh per second. */
  readonly rate: number;
  /** Number of times that istiod is killed, all in the first half. */
  readonly kills: number;
  readonly seed: number;
}

/** The figures of a soak. */
export interface SoakResult {
  readonly changes: number;
  readonly attacks: ReadonlyMap<string, number>;
  /** Names and errors of attacks that threw without a kill meanwhile. */
  readonly failedAttacks: readonly string[];
  readonly kills: number;
  /** Unexpected exits of istiod. */
  readonly exits: number;
  /** Answers of `/ready`, without restarts. */
  readonly ready: readonly ReadyAnswer[];
  readonly readyFailures: number;
  /** Long turns of istiod's event loop during these, with the attack that ran when each was reported. */
  readonly turns: readonly (LongTurn & { readonly context: string })[];
  /** Honest streams that ended while istiod was running. */
  readonly lost: readonly LostStream[];
  /** Longest time until all proxies were served by a new start after a kill, in milliseconds. */
  readonly longestRecoveryMs: number;
  /**
   * Bytes on the heap after collection, without changes and attacks: some minutes after the last kill, and at the end.
   */
  readonly heap: { readonly early: number; readonly end: number };
  readonly differences: readonly string[];
}

const recoveryMs = 120_000;
/** Changes per service before the mesh is served, after which its size varies but does not grow. */
const changesBefore = 80;
/** Time from the last kill to the first measurement of the heap. */
const settlingMs = 180_000;

const heapMeasurements = 3;
/** Time without changes and attacks before each measurement of the heap. */
const quietMs = 3000;

/** Changes, attacks and kills at the same time. */
export class SoakRun {
  readonly #options: SoakOptions;
  readonly #attacks: readonly Attack[];
  readonly #random: Random;
  readonly #mesh: Mesh;
  readonly #counts = new Map<string, number>();
  readonly #failedAttacks: string[] = [];
  readonly #ready: ReadyAnswer[] = [];
  readonly #turns: (LongTurn & { readonly context: string })[] = [];
  readonly #log: (line: string) => void;
  #readyFailures = 0;
  #changes = 0;
  #exits = 0;
  #kills = 0;
  #longestRecovery = 0;
  #over = false;
  readonly #startedAt = performance.now();
  /** The attack that runs. */
  #attacking: string | undefined;
  /** Set while istiod restarts. */
  #restarting = false;
  /** Set while the heap is measured: no change or attack begins. */
  #quiet = false;
  /** Changes and attacks that are under way. */
  #underway = 0;

  constructor(options: SoakOptions, attacks: readonly Attack[], log: (line: string) => void) {
    this.#options = options;
    this.#attacks = attacks;
    this.#log = log;
    this.#random = new Random(options.seed);
    const { services, proxies, seed } = options;
    this.#mesh = new Mesh({ services, namespaces: 10, proxies, scoped: 0.5, gatewayRoutes: 0, seed });
  }

  async run(): Promise<SoakResult> {
    const closers = new Closers();
    try {
      return await this.#runAll(closers);
    } finally {
      this.#over = true;
      await closers.close();
    }
  }

  async #runAll(closers: Closers): Promise<SoakResult> {
    const root = await mkdtemp(join(tmpdir(), "istiod-soak-"));
    closers.defer(() => rm(root, { recursive: true, force: true }));
    const directory = join(root, "mesh");
    for (let change = 0; change < changesBefore * this.#options.services; change++) randomChange(this.#mesh);
    await writeObjects(directory, this.#mesh.objects());
    const tokens = await writeTokens(join(root, "tokens"), this.#mesh.proxies());
    const start = this.#starter(root, directory, tokens);
    let istiod = await start();
    closers.defer(() => istiod.stop());
    const fleet = new HonestProxies(istiod, this.#mesh.proxies(), tokens, () => this.#context());
    closers.defer(() => fleet.close());
    fleet.connect();
    await this.#recovered(fleet);
    const current = (): IstiodProcess => istiod;
    const thread = new AttackThread();
    closers.defer(() => thread.close());
    const running = Promise.all([this.#change(directory), this.#attack(thread, current, tokens, join(root, "ca"))]);
    running.catch(() => undefined);
    const halfMs = (this.#options.minutes * 60_000) / 2;
    for (let left = this.#options.kills; left > 0; left--) {
      await this.#probed(current, halfMs / this.#options.kills);
      this.#restarting = true;
      fleet.killed();
      await istiod.kill();
      this.#kills++;
      istiod = await start();
      this.#restarting = false;
      await this.#recovered(fleet);
    }
    const restMs = this.#options.minutes * 60_000 - halfMs;
    const settling = Math.min(settlingMs, restMs / 2);
    await this.#probed(current, settling);
    const early = await this.#quietHeap(istiod);
    await this.#probed(current, restMs - settling);
    const end = await this.#quietHeap(istiod);
    this.#over = true;
    await running;
    const fresh = await startIstiod({ directory, tlsTokens: tokens.directory });
    closers.defer(() => fresh.stop());
    return {
      changes: this.#changes,
      attacks: this.#counts,
      failedAttacks: this.#failedAttacks,
      kills: this.#kills,
      exits: this.#exits,
      ready: this.#ready,
      readyFailures: this.#readyFailures,
      turns: this.#turns,
      lost: fleet.lost,
      longestRecoveryMs: this.#longestRecovery,
      heap: { early, end },
      differences: await fleet.differences(fresh),
    };
  }

  /** Returns a function that starts istiod at the same ports, with the same CA. */
  #starter(root: string, directory: string, tokens: Tokens): () => Promise<IstiodProcess> {
    let ports: readonly [number, number] | undefined;
    return async () => {
      const istiod = await startIstiod({
        directory,
        ports,
        caDir: join(root, "ca"),
        tlsTokens: tokens.directory,
        alsoPlaintext: true,
        maxOldSpaceMiB: this.#options.heapMiB,
        recordLongTurns: true,
        env: { PILOT_MAX_REQUESTS_PER_SECOND: "" },
      });
      ports = [istiod.xds.port, Number(new URL(istiod.http).port)];
      return istiod;
    };
  }

  /** Returns the time since the start of the soak, and the attack that runs. */
  #context(): string {
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(0);
    return `at ${seconds} s${this.#attacking === undefined ? "" : ` during ${this.#attacking}`}`;
  }

  async #recovered(fleet: HonestProxies): Promise<void> {
    const startedAt = performance.now();
    for (let missing = fleet.incomplete(); missing.length > 0; missing = fleet.incomplete()) {
      if (performance.now() - startedAt > recoveryMs)
        throw new Error(`${missing.length} proxies did not recover:\n${missing.join("\n")}`);
      await wait(50);
    }
    this.#longestRecovery = Math.max(this.#longestRecovery, performance.now() - startedAt);
  }

  /** Polls `/ready` for a time. */
  async #probed(istiod: () => IstiodProcess, forMs: number): Promise<void> {
    await istiod().longTurns();
    const stop = probeReady(`${istiod().http}/ready`);
    for (const until = performance.now() + forMs; performance.now() < until; await wait(200)) {
      if (!isRunning(istiod().pid)) {
        this.#exits++;
        throw new Error(`istiod exited ${this.#context()}:\n${istiod().output()}`);
      }
      await this.#recordTurns(istiod());
    }
    const { ms, endedAt, failures } = await stop();
    await this.#recordTurns(istiod());
    this.#ready.push(...ms.map((each, at) => ({ ms: each, endedAt: endedAt[at] ?? 0 })));
    this.#readyFailures += failures;
    this.#log(
      `${this.#changes} changes, ${this.#kills} kills, ${[...this.#counts.values()].reduce((a, b) => a + b, 0)} attacks, /ready max ${Math.max(0, ...ms).toFixed(0)} ms, ${failures} failures`,
    );
  }

  async #recordTurns(istiod: IstiodProcess): Promise<void> {
    const context = this.#context();
    for (const turn of await istiod.longTurns()) this.#turns.push({ ...turn, context });
  }

  /** Returns the bytes on the heap after collection, the least of some measurements, once changes and attacks rest. */
  async #quietHeap(istiod: IstiodProcess): Promise<number> {
    this.#quiet = true;
    while (this.#underway > 0) await wait(50);
    const heaps: number[] = [];
    for (let left = heapMeasurements; left > 0; left--) {
      await wait(quietMs);
      heaps.push((await istiod.heap("collect")).heap);
    }
    this.#quiet = false;
    return Math.min(...heaps);
  }

  /** Repeats a step until the run is over, except while the heap is measured. */
  async #repeat(step: () => Promise<void>): Promise<void> {
    while (!this.#over) {
      if (this.#quiet) {
        await wait(50);
        continue;
      }
      this.#underway++;
      await step().finally(() => this.#underway--);
    }
  }

  #change(directory: string): Promise<void> {
    return this.#repeat(async () => {
      await apply(directory, randomChange(this.#mesh));
      this.#changes++;
      await wait(1000 / this.#options.rate);
    });
  }

  /** Runs attacks in random order, one after another. */
  #attack(thread: AttackThread, istiod: () => IstiodProcess, tokens: Tokens, caDirectory: string): Promise<void> {
    const places = this.#mesh.proxies();
    return this.#repeat(async () => {
      if (this.#restarting) return wait(500);
      const { name } = this.#random.pick(this.#attacks);
      const address = this.#random.chance(0.5) ? strangerAddress : "127.0.0.1";
      const kills = this.#kills;
      const target = { istiod: istiod(), ports: portsFrom(istiod(), address), places, tokens, caDirectory };
      this.#attacking = `${name} from ${address}`;
      const outcome = await thread.run(name, target, 0.2 + 0.8 * this.#random.unit());
      this.#attacking = undefined;
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
      const isInterrupted = this.#restarting || this.#kills > kills;
      if ("failed" in outcome && !isInterrupted) this.#failedAttacks.push(`${name} from ${address}: ${outcome.failed}`);
      this.#log(`${name} from ${address}: ${"sent" in outcome ? outcome.sent : outcome.failed}`.slice(0, 200));
    });
  }
}
