import { query } from "@istiod/incremental";
import type { Controller } from "../controller/controller.js";
import type { Write } from "../controller/write.js";
import { controllerVersion, takeover, versionAnnotation } from "./controller-version.js";
import { type GatewayDeploymentOptions, gatewayInputs, gatewayType, gatewayWatches } from "./gateway-inputs.js";
import { gatewayObjectKinds } from "./gateway-object-kinds.js";
import { gatewayObjects } from "./gateway-objects.js";
import { gatewayPayload } from "./gateway-payload.js";
import { ManagedGatewayError } from "./managed-gateway-error.js";

/**
 * Returns the controller of the objects of Gateways: their ServiceAccount, Deployment, Service, and, if they are
 * customized, HorizontalPodAutoscaler and PodDisruptionBudget. Kubernetes deletes them with their Gateway. Objects
 * without the label `gateway.istio.io/managed` are left alone.
 */
export function gatewayDeploymentController(options: GatewayDeploymentOptions): Controller {
  const fieldManager = options.settings.controllerName;
  const inputs = gatewayInputs(options);
  const { gateways, existing } = inputs;
  const objectsOf = gatewayObjects(inputs, options);
  const needsVersion = query("gatewayNeedsVersion", (q, key: string): boolean => {
    const gateway = q.read(gateways, key)?.value;
    return gateway !== undefined && takeover(gateway.annotations).isNeeded;
  });
  const targets = query("gatewayObjectKeys", (q): readonly string[] =>
    q.keys(gateways).flatMap((key) => {
      const desired = q.call(objectsOf, key);
      if (desired === undefined) return [];
      const version = q.call(needsVersion, key) ? [`${key}/Gateway`] : [];
      if ("problem" in desired) return [...version, `${key}/problem`];
      return [...version, ...desired.objects.map(({ kind, metadata }) => `${key}/${kind}/${metadata?.name}`)];
    }),
  );
  const write = query("gatewayWrite", (q, target: string): Write | undefined => {
    const [namespace = "", name = "", kind = "", objectName = ""] = target.split("/");
    const key = `${namespace}/${name}`;
    const desired = q.call(objectsOf, key);
    if (desired === undefined) return undefined;
    if (kind === "Gateway") return versionWrite({ namespace, name });
    if ("problem" in desired) throw new ManagedGatewayError(`Gateway ${key}: ${desired.problem}`);
    const type = gatewayObjectKinds.find((known) => known.type.kind === kind)?.type;
    const object = desired.objects.find((one) => one.kind === kind && one.metadata?.name === objectName);
    const observed = existing.get(kind);
    if (type === undefined || object === undefined || observed === undefined) return undefined;
    const found = q.read(observed, `${namespace}/${objectName}`);
    const payload = gatewayPayload(object, found, fieldManager);
    return payload && { action: "apply", type, object: payload, base: found?.resourceVersion };
  });
  return { name: "gateway deployment controller", fieldManager, ...gatewayWatches(inputs, options), targets, write };
}

/**
 * Returns the write of the version of this controller, by the permission to write the status. Servers may ignore the
 * annotation there, so that it is written once, and not again for each version of the Gateway.
 */
function versionWrite(gateway: { readonly namespace: string; readonly name: string }): Write {
  const annotations = { [versionAnnotation]: String(controllerVersion) };
  return {
    action: "apply",
    type: gatewayType,
    subresource: "status",
    object: { metadata: { ...gateway, annotations } },
    base: undefined,
  };
}
