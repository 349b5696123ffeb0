import {
  type AnalysisResults,
  analysisStatusController,
  clusterTrustBundleController,
  type Controller,
  type DistributedText,
  ingressStatusController,
  injectionWebhookController,
  ipAllocationController,
  type Lock,
  locks,
  type MeshSettings,
  namespaceController,
  nodeUntaintController,
  parsePrefix,
  type RootCertificates,
  serviceExportController,
} from "@istiod/controllers";
import { MeshConfig_IngressControllerMode as Mode } from "@istiod/istio-api/mesh/v1alpha1/config";
import { features } from "@istiod/push-context";
import { discoveryFeatures } from "@istiod/service-discovery";
import type { Environment } from "@istiod/settings";
import type { FlagValues } from "../flags.js";
import { variables } from "../variables.js";

/** A controller with its leader lock. */
export interface LockedController {
  /** Absent: every istiod runs it. */
  readonly lock?: Lock;
  readonly controller: Controller;
}

export interface ControllerInputs {
  readonly values: Pick<FlagValues, "namespace" | "domain" | "cniNamespace">;
  readonly env: Environment;
  readonly mesh: MeshSettings;
  /** Undefined: this istiod issues no certificates. */
  readonly roots: RootCertificates | undefined;
  /** Undefined: findings are not written. */
  readonly analysis: AnalysisResults | undefined;
  /** Roots by which API servers verify the injection webhook. Undefined: they are not written. */
  readonly webhookRoots: RootCertificates | undefined;
  /** Undefined: this istiod has no revocation lists, and will have none. */
  readonly revocationLists: DistributedText | undefined;
}

/** Returns the controllers of istiod's own cluster. Source: pilot/pkg/bootstrap. */
export function ownControllers(inputs: ControllerInputs): readonly LockedController[] {
  const { values, env, mesh, analysis } = inputs;
  const scope = scopeOf(inputs);
  const revision = variables.revision.read(env) || "default";
  const prefixes = [parsePrefix(variables.ipv4Prefix.read(env), 4), parsePrefix(variables.ipv6Prefix.read(env), 6)];
  const controllers: LockedController[] = [...rootControllers(inputs), ...exportControllers(inputs)];
  if (discoveryFeatures.ipAutoallocate.setting.read(env))
    controllers.push({ lock: locks.ipAllocation, controller: ipAllocationController({ ...scope, prefixes }) });
  if (analysis !== undefined) {
    const concurrency = variables.statusWorkers.read(env);
    const controller = analysisStatusController({ ...scope, results: analysis, concurrency });
    controllers.push({ lock: locks.analysis, controller });
  }
  if (variables.nodeUntaint.read(env)) {
    const namespace = values.cniNamespace || values.namespace;
    const controller = nodeUntaintController({ namespace, taint: variables.nodeTaint.read(env) });
    controllers.push({ lock: locks.nodeUntaint, controller });
  }
  // As in Istio, a later change of the mode does not end or start the writer.
  if (mesh.current()?.ingressControllerMode !== Mode.OFF) {
    const ingressNamespace = features.ingressNamespace.setting.read(env);
    const options = { ...scope, revision, systemNamespace: values.namespace, ingressNamespace };
    controllers.push({ lock: locks.ingress, controller: ingressStatusController(options) });
  }
  return controllers;
}

/** Returns the controllers of a remote cluster. @param isLed this istiod's cluster is named as its control plane */
export function remoteControllers(inputs: ControllerInputs, isLed: boolean): readonly LockedController[] {
  return [...(isLed ? [...rootControllers(inputs), ...webhookControllers(inputs)] : []), ...exportControllers(inputs)];
}

function webhookControllers({ env, webhookRoots: roots }: ControllerInputs): readonly LockedController[] {
  if (roots === undefined || variables.injectionWebhookConfig.read(env) === "") return [];
  const revision = variables.revision.read(env) || "default";
  return [{ controller: injectionWebhookController({ roots, revision }) }];
}

function rootControllers(inputs: ControllerInputs): readonly LockedController[] {
  const { env, roots, revocationLists: text } = inputs;
  if (roots === undefined) return [];
  const revocationLists = text && { text, configMap: variables.revocationConfigMap.read(env) };
  const controller = variables.clusterTrustBundles.read(env)
    ? clusterTrustBundleController(roots)
    : namespaceController({
        ...scopeOf(inputs),
        roots,
        configMap: variables.rootConfigMap.read(env),
        ...(revocationLists && { revocationLists }),
      });
  return [{ lock: locks.namespaces, controller }];
}

function exportControllers(inputs: ControllerInputs): readonly LockedController[] {
  const { values, env } = inputs;
  if (!discoveryFeatures.exportsAll.setting.read(env)) return [];
  const version = variables.mcsApiVersion.read(env) || "v1alpha1";
  const group = variables.mcsApiGroup.read(env);
  const options = { ...scopeOf(inputs), domain: values.domain, group, version };
  return [{ lock: locks.serviceExports, controller: serviceExportController(options) }];
}

function scopeOf({ env, mesh }: ControllerInputs): { readonly mesh: MeshSettings; readonly namespace?: string } {
  const namespace = variables.watchNamespace.read(env);
  return { mesh, ...(namespace !== "" && { namespace }) };
}
