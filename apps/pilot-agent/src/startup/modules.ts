import { join } from "node:path";
import { reasonOf } from "@istiod/runtime";
import { AgentError } from "../errors.js";
import type { AgentMetrics } from "../status/metrics.js";
import { BlockedAddresses } from "../wasm/blocked-addresses.js";
import { convertExtension } from "../wasm/convert-extensions.js";
import { ModuleStore } from "../wasm/module-store.js";
import type { ResourceRewriter } from "../xds-proxy/agent-resources.js";
import type { AgentContext } from "./context.js";

/**
 * Returns the rewriter of extension configurations, which fetches the modules of Wasm extensions.
 *
 * @throws AgentError `option`
 */
export function extensionRewriter(context: AgentContext, metrics: AgentMetrics): ResourceRewriter {
  const { options, proxy, clock, log, resolvePath } = context;
  const modules = new ModuleStore({
    directory: resolvePath(join(proxy.config.configPath, "wasm")),
    clock,
    blocked: blockedAddresses(options.blockedModuleAddresses),
    insecureHosts: listed(options.insecureModuleHosts),
    maxBytes: options.moduleMaxBytes,
    expiry: options.moduleExpiry,
    requestTimeout: options.moduleRequestTimeout,
    attempts: options.moduleAttempts,
    events: {
      lookedUp: (isHit) => metrics.moduleLookups.inc({ hit: String(isHit) }),
      fetched: (result) => metrics.moduleFetches.inc({ result }),
      size: (entries) => metrics.modules.set(entries),
    },
  });
  return async (resource) => {
    const rewritten = await convertExtension(resource, modules, log);
    metrics.extensionConversions.inc({ result: rewritten.isSubstitute ? "fetch_failure" : "success" });
    return rewritten;
  };
}

function blockedAddresses(text: string): BlockedAddresses {
  try {
    return new BlockedAddresses(listed(text));
  } catch (error) {
    throw new AgentError("option", `BLOCKED_CIDRS_IN_WASM_FETCH ${reasonOf(error)}`);
  }
}

function listed(text: string): readonly string[] {
  return text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}
