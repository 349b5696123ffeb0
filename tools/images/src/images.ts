import type { DebianPackage } from "./downloads/debian-packages.js";
import type { Architecture, Lock } from "./lock.js";
import { type Application, applicationLayer } from "./root/application.js";
import { toolsLayer } from "./root/tools.js";
import type { NpmPackage } from "./root/npm-packages.js";
import { envoyLayer, nodeLayer, type Program } from "./root/programs.js";
import { systemLayer, USER } from "./root/system.js";
import type { Tree } from "./root/tree.js";

/** A layer with what its files are taken from. */
export interface SourcedLayer {
  readonly name: string;
  readonly tree: Tree;
  readonly packages?: readonly DebianPackage[];
  readonly programs?: readonly Program[];
  readonly npmPackages?: readonly NpmPackage[];
}

export interface ImageDefinition {
  readonly title: string;
  readonly description: string;
  /** Name in `/usr/local/bin` of the program that containers start. */
  readonly entrypoint: string;
  /** Returns the layers, from those that change rarely to those that change often. */
  readonly layers: (architecture: Architecture, lock: Lock, root: string) => Promise<readonly SourcedLayer[]>;
}

const ISTIOD: Application = {
  name: "istiod",
  commands: ["istiod", "pilot-discovery"],
  external: { "@kubernetes/client-node": ["KubeConfig"] },
};
const PILOT_AGENT: Application = { name: "pilot-agent", commands: ["pilot-agent"], external: {} };

/** The images by the last part of their name, which is that of Istio's image with the same purpose. */
export const IMAGES: Readonly<Record<string, ImageDefinition>> = {
  pilot: {
    title: "istiod",
    description: "The control plane",
    entrypoint: "pilot-discovery",
    layers: (architecture, lock, root) =>
      Promise.all([systemLayer(architecture, lock), nodeLayer(architecture, lock), applicationLayer(ISTIOD, root)]),
  },
  proxyv2: {
    title: "Proxy",
    description: "An Envoy with its agent, and the init container that redirects traffic",
    entrypoint: "pilot-agent",
    layers: (architecture, lock, root) =>
      Promise.all([
        systemLayer(architecture, lock),
        nodeLayer(architecture, lock),
        envoyLayer(architecture, lock),
        toolsLayer(architecture, lock),
        applicationLayer(PILOT_AGENT, root),
      ]),
  },
};

/** Returns the user, the environment and the program of an image's containers. */
export function runConfigOf({ entrypoint }: ImageDefinition, labels: Readonly<Record<string, string>>) {
  return {
    User: `${USER}:${USER}`,
    Env: ["PATH=/usr/local/bin:/usr/sbin:/usr/bin"],
    Entrypoint: [`/usr/local/bin/${entrypoint}`],
    WorkingDir: "/",
    Labels: labels,
  };
}
