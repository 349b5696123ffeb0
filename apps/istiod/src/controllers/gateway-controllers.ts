import { proxyConfigs } from "@istiod/config-schema";
import {
  type ClassSettings,
  DesiredPoolServices,
  DesiredStatuses,
  gatewayClassController,
  gatewayDeploymentController,
  gatewayDeploymentLock,
  gatewayStatusController,
  gatewayStatusLock,
  inferencePoolController,
  inferencePoolLock,
  kubernetesVersion,
  type MeshSettings,
  type Source,
} from "@istiod/controllers";
import { gatewayApiFeatures } from "@istiod/gateway-api";
import type { InjectorDocuments } from "@istiod/injector";
import type { ApiClient } from "@istiod/kubernetes";
import { features, noProxy } from "@istiod/push-context";
import type { Environment } from "@istiod/settings";
import type { Mesh } from "../phases/mesh.js";
import type { Startup } from "../phases/startup.js";
import { variables } from "../variables.js";
import type { LockedController } from "./controllers-of-cluster.js";

export interface GatewayControllerInputs {
  readonly startup: Startup;
  readonly mesh: Pick<Mesh, "database">;
  readonly client: ApiClient;
  readonly injection: Source<InjectorDocuments>;
  readonly settings: MeshSettings;
}

/** Returns the controllers of the Gateway API. Source: pilot/pkg/bootstrap/configcontroller.go. */
export function gatewayControllers(inputs: GatewayControllerInputs): readonly LockedController[] {
  const { env } = inputs.startup;
  if (!gatewayApiFeatures.enabled.setting.read(env)) return [];
  const revision = variables.revision.read(env) || "default";
  const controllers: LockedController[] = [];
  if (variables.gatewayStatus.read(env))
    controllers.push({ lock: gatewayStatusLock(revision), controller: statusController(inputs, revision) });
  if (variables.gatewayDeployments.read(env))
    controllers.push({ lock: gatewayDeploymentLock(revision), controller: deploymentController(inputs) });
  if (gatewayApiFeatures.inferenceExtension.setting.read(env))
    controllers.push({ lock: inferencePoolLock(revision), controller: poolController(inputs, revision) });
  // Replicas create the same classes.
  if (variables.gatewayClasses.read(env)) controllers.push({ controller: gatewayClassController(classSettings(env)) });
  return controllers;
}

function statusController({ startup, mesh, settings }: GatewayControllerInputs, revision: string) {
  const { values, env, log } = startup;
  const statusLog = log.child({ scope: "status" });
  const statuses = new DesiredStatuses({
    database: mesh.database,
    client: noProxy,
    onError: (err, object) => statusLog.error({ err }, `cannot compute the status of ${object}`),
  });
  return gatewayStatusController({
    ...scopeOf(env, settings),
    revision,
    systemNamespace: values.namespace,
    controllerName: gatewayApiFeatures.controllerName.setting.read(env),
    concurrency: variables.statusWorkers.read(env),
    statuses,
  });
}

function poolController({ startup: { values, env }, mesh, settings }: GatewayControllerInputs, revision: string) {
  return inferencePoolController({
    ...scopeOf(env, settings),
    revision,
    systemNamespace: values.namespace,
    services: new DesiredPoolServices(mesh.database, noProxy),
  });
}

function deploymentController({ startup, mesh, client, injection, settings }: GatewayControllerInputs) {
  const { values, env, log, closers } = startup;
  const version = kubernetesVersion(client, (err) =>
    log.warn({ err }, "gateways are not deployed: the version of Kubernetes is not known"),
  );
  closers.defer(() => version.stop());
  return gatewayDeploymentController({
    ...scopeOf(env, settings),
    systemNamespace: values.namespace,
    settings: {
      ...classSettings(env),
      allowsManualDeployment: gatewayApiFeatures.manualDeployment.setting.read(env),
      copiesMetadata: variables.copiesGatewayMetadata.read(env),
      hasQuic: features.quicListeners.setting.read(env),
      nativeSidecars: variables.nativeSidecars.read(env) !== "false",
      compliancePolicy: variables.compliancePolicy.read(env),
      clusterId: values.clusterID,
      revision: variables.revision.read(env),
    },
    sources: { injection, proxyConfigs: proxyConfigsOf(mesh.database), kubeVersion: version },
  });
}

function classSettings(env: Environment): ClassSettings {
  const read = (name: "ambient" | "waypoints" | "eastWestGateways" | "remoteGateways"): boolean =>
    gatewayApiFeatures[name].setting.read(env);
  return {
    controllerName: gatewayApiFeatures.controllerName.setting.read(env),
    defaultClass: gatewayApiFeatures.defaultClass.setting.read(env),
    hasWaypoints: read("ambient") && read("waypoints"),
    hasEastWest: read("ambient") && read("eastWestGateways"),
    hasRemote: read("remoteGateways"),
    hasAgentgateway: variables.agentgateway.read(env),
  };
}

/** Returns the ProxyConfig objects of the mesh. */
function proxyConfigsOf(database: Mesh["database"]) {
  return {
    current: () => database.keys(proxyConfigs).flatMap((key) => database.read(proxyConfigs, key) ?? []),
    onChange: (listener: () => void) =>
      database.observe({
        after: ({ changed }) => {
          if (changed.some(({ collection }) => collection === proxyConfigs)) listener();
        },
      }),
  };
}

function scopeOf(env: Environment, mesh: MeshSettings): { readonly mesh: MeshSettings; readonly namespace?: string } {
  const namespace = variables.watchNamespace.read(env);
  return { mesh, ...(namespace !== "" && { namespace }) };
}
