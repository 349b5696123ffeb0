import { fileURLToPath } from "node:url";
import { findEnvoy } from "@istiod/envoy-binary";
import { findIptables } from "@istiod/iptables-binary";
import type { Images } from "./images.js";

const path = (relative: string): string => fileURLToPath(new URL(`../../../../${relative}`, import.meta.url));

/** The images that this repository has programs for. */
export async function builtInImages(): Promise<Images> {
  const istiod = path("apps/istiod/bin/istiod.js");
  const agent = path("apps/pilot-agent/bin/pilot-agent.js");
  const envoy = await findEnvoy();
  const iptables = await findIptables();
  const libraries = Object.entries(iptables ?? {}).filter(([name]) => /^(LD_LIBRARY_PATH|XTABLES_LIBDIR)$/.test(name));
  const control = {
    entrypoint: ["/usr/local/bin/pilot-discovery"],
    files: { "/usr/local/bin/pilot-discovery": istiod },
  };
  return {
    istiod: control,
    pilot: control,
    proxyv2: {
      entrypoint: ["/usr/local/bin/pilot-agent"],
      files: { "/usr/local/bin/pilot-agent": agent, ...(envoy && { "/usr/local/bin/envoy": envoy }) },
      env: { ...Object.fromEntries(libraries.map(([name, value]) => [name, value ?? ""])), ...searchPath(iptables) },
    },
    echo: { entrypoint: [process.execPath, path("tools/nodes/bin/istiod-nodes.js"), "echo"] },
    ...bookinfo(),
    relay: { entrypoint: [process.execPath, path("tools/nodes/dist/programs/relay.js")] },
    signer: { entrypoint: [process.execPath, path("tools/nodes/dist/programs/signer.js")] },
    curl: { entrypoint: ["curl"] },
    shell: { entrypoint: ["sh"] },
    busybox: { entrypoint: ["sh"] },
  };
}

function bookinfo(): Images {
  const program = path("tools/nodes/dist/programs/bookinfo.js");
  const services = ["productpage", "details", "reviews", "ratings"];
  return Object.fromEntries(services.map((name) => [name, { entrypoint: [process.execPath, program, name] }]));
}

function searchPath(iptables: Readonly<Record<string, string | undefined>> | undefined): Record<string, string> {
  const path = iptables?.["PATH"];
  return path === undefined ? {} : { PATH: `/usr/local/bin:${path}` };
}
