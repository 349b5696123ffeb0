import { rename, writeFile } from "node:fs/promises";
import { Closers } from "@istiod/runtime";
import type { Logger } from "pino";
import { Registry } from "prom-client";
import type { FlagValues } from "./flags.js";
import { openControllers } from "./phases/controllers.js";
import { openAnalysis, openIntrospection } from "./phases/introspection.js";
import { prometheusMeter } from "@istiod/prometheus";
import { type BoundAddress, openHttp, openListeners, serveStartup } from "./phases/listeners.js";
import { firstState, openMesh } from "./phases/mesh.js";
import { openSecurity } from "./phases/security.js";
import { openServing } from "./phases/serving.js";
import { readSettings, type Startup } from "./phases/startup.js";
import { openWebhooks, startWebhookControllers } from "./phases/webhooks.js";
import { variables } from "./variables.js";

/** A running control plane. */
export interface Discovery {
  /** Addresses of the listeners by the name of the flag, such as `grpcAddr`. */
  readonly addresses: Readonly<Record<string, BoundAddress>>;
  /**
   * Shuts down: rejects new streams, disconnects proxies within --shutdownDuration, then closes everything else.
   */
  close(): Promise<void>;
}

/**
 * Starts a control plane. Resolves when the first full state is served.
 *
 * @throws Error that names the flag, file or port that cannot be used. What was opened until then is closed.
 */
export async function startDiscovery(
  values: FlagValues,
  env: NodeJS.ProcessEnv,
  log: Logger,
  version: string,
): Promise<Discovery> {
  const closers = new Closers();
  return closers.closeOnError(async () => {
    const settings = readSettings(values, env);
    const startedAt = Date.now();
    const registry = new Registry();
    const meter = prometheusMeter(registry);
    const startup: Startup = { values, env, settings, log, version, startedAt, registry, meter, closers };
    const http = await openHttp(startup);
    const mesh = await openMesh(startup);
    serveStartup(startup, mesh, http);
    await firstState(startup, mesh);
    const security = await openSecurity(startup, mesh);
    const serving = openServing(startup, mesh, security);
    const analysis = openAnalysis(startup, mesh);
    const { routes: webhooks, injectionTemplates, injection } = await openWebhooks(startup, mesh, analysis);
    const introspection = openIntrospection(startup, mesh, security, { ...serving, injectionTemplates, analysis });
    const addresses = await openListeners(startup, { security, serving, introspection, webhooks, http });
    const webhookRoots = await startWebhookControllers(startup, mesh, security);
    openControllers(startup, mesh, { ...security, ...introspection, webhookRoots, injection });
    if (values.readyFile) await writeAtomically(values.readyFile, `${new Date().toISOString()}\n`);
    log.info({ addresses }, "ready");
    if (variables.analysis.read(env) !== "off") void analysis.start();
    return { addresses, close: () => closers.close() };
  });
}

async function writeAtomically(file: string, text: string): Promise<void> {
  await writeFile(`${file}.tmp`, text);
  await rename(`${file}.tmp`, file);
}
