import type { MeshOptions } from "../mesh/mesh.js";
import { runFleet } from "../fleet/run.js";
import { parseScript } from "../fleet/script.js";
import { failures, quantile, type RunReport, type StepReport } from "../fleet/step-report.js";
import { predict, type Figures, type MeshSize } from "./formula.js";

/** A measured mesh, and what the formula says of it. */
export interface SizedPoint {
  readonly size: MeshSize;
  readonly measured: Figures;
  readonly predicted: Figures;
  readonly load: number;
  readonly failures: readonly string[];
}

const unscoped = { pods: 3, isScoped: false };
const scoped = { pods: 3, isScoped: true };

/** Meshes of the table in docs/sizing.md. */
export const points: readonly MeshSize[] = [
  { ...unscoped, services: 100, namespaces: 5, proxies: 50 },
  { ...unscoped, services: 300, namespaces: 6, proxies: 200 },
  { ...unscoped, services: 1000, namespaces: 20, proxies: 100 },
  { ...scoped, services: 1000, namespaces: 20, proxies: 500 },
  { ...scoped, services: 2000, namespaces: 40, proxies: 500 },
  { ...unscoped, services: 300, namespaces: 6, proxies: 100, pods: 30 },
  { ...scoped, services: 200, namespaces: 10, proxies: 500 },
  { ...unscoped, services: 500, namespaces: 10, proxies: 250 },
  { ...scoped, services: 1000, namespaces: 20, proxies: 500, pods: 20 },
];

/** Serves a mesh over TLS without compression, and measures what the formula predicts. */
export async function measurePoint(size: MeshSize): Promise<SizedPoint> {
  const run = await runFleet({
    mesh: meshOf(size),
    variant: "delta",
    tls: true,
    script: parseScript("connect,endpoint*4,weight*4"),
    quietMs: 700,
  });
  return {
    size,
    measured: figuresOf(run),
    predicted: predict(size),
    load: Math.max(...run.steps.map(({ load }) => load)),
    failures: run.steps.flatMap(failures),
  };
}

const meshOf = ({ services, namespaces, proxies, pods, isScoped }: MeshSize): MeshOptions => ({
  services,
  namespaces,
  // Two more are gateways.
  proxies: proxies - 2,
  endpoints: pods,
  scoped: isScoped ? 1 : 0,
  seed: 1,
});

function figuresOf({ ready, steps }: RunReport): Figures {
  const connect = stepsOf(steps, "connect")[0];
  if (connect === undefined) throw new Error("the fleet did not connect");
  return {
    readyCpuSeconds: ready.cpuSeconds,
    connectCpuSeconds: connect.serverCpuSeconds,
    connectBytes: connect.total.bytes,
    peakBytes: Math.max(...steps.map(({ rss }) => rss.peak)),
    endpoint: changeOf(stepsOf(steps, "endpoint")),
    weight: changeOf(stepsOf(steps, "weight")),
  };
}

const stepsOf = (steps: readonly StepReport[], wanted: string): readonly StepReport[] =>
  steps.filter(({ name }) => name === wanted);

/** The median of the repetitions after the first, which computes what nobody has requested before. */
function changeOf(steps: readonly StepReport[]): Figures["endpoint"] {
  const middle = (of: (step: StepReport) => number): number =>
    quantile(
      steps
        .slice(1)
        .map(of)
        .sort((a, b) => a - b),
      0.5,
    );
  return { cpuSeconds: middle((step) => step.serverCpuSeconds), bytes: middle((step) => step.total.bytes) };
}
