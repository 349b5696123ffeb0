import { startApplication } from "./application.js";
import type { Lifecycle } from "./lifecycle.js";
import { logDirectory, type Places, startAgent } from "./mesh.js";
import { labeled, type Screen } from "./screen.js";
import { userAgent } from "./traffic.js";
import type { Workload } from "./workload.js";

export interface StartWorkloadsOptions {
  readonly workloads: readonly Workload[];
  readonly places: Places;
  /** The binary. */
  readonly envoy: string;
  /** Print the access log. */
  readonly accessLog: boolean;
  readonly lifecycle: Lifecycle;
  readonly screen: Screen;
}

/** Starts all workloads, each with its application and its proxy; resolves when all are ready. */
export async function startWorkloads(options: StartWorkloadsOptions): Promise<void> {
  const started = await Promise.allSettled(options.workloads.map((workload) => startWorkload(workload, options)));
  for (const one of started) if (one.status === "rejected") throw one.reason;
}

async function startWorkload(
  workload: Workload,
  { places, envoy, accessLog, lifecycle, screen }: StartWorkloadsOptions,
): Promise<void> {
  const { name, role } = workload;
  if (role === "sidecar") {
    const application = await startApplication(workload, places.ports);
    await lifecycle.add({
      stop() {
        application.close();
        application.closeAllConnections();
      },
    });
  }
  const print = (line: string): void => {
    if (!line.endsWith(`"${userAgent}"`)) screen.say(labeled("access", `${name.padEnd(15)} ${line}`));
  };
  const agent = await startAgent(workload, places, envoy, accessLog ? print : undefined);
  await lifecycle.add(agent);
  void agent.ended.then(() =>
    lifecycle.fail(`the agent of ${name} ended by itself; see ${logDirectory(places)}/${name}.log`),
  );
}
