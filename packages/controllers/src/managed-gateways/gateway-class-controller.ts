import { collection, query } from "@istiod/incremental";
import type { ResourceType } from "@istiod/kubernetes";
import { allObserved, type Controller, notServed, type Observed } from "../controller/controller.js";
import type { Write } from "../controller/write.js";
import { type ClassSettings, createdClasses } from "./managed-classes.js";

const type: ResourceType = {
  group: "gateway.networking.k8s.io",
  version: "v1",
  kind: "GatewayClass",
  plural: "gatewayclasses",
  namespaced: false,
};

/**
 * Returns the controller of the GatewayClasses that come with istiod. One that exists is left alone, whatever its
 * controller is. Source: pilot/pkg/config/kube/gatewaycommon/gatewayclass.go.
 */
export function gatewayClassController(settings: ClassSettings): Controller {
  const classes = new Map(createdClasses(settings).map((known) => [known.name, known]));
  const observed = collection<Observed<true>>("GatewayClass");
  const targets = query("builtInClasses", (q): readonly string[] => {
    const isServed = q.read(allObserved, "") === true && q.read(notServed, `${type.group}/${type.kind}`) !== true;
    return isServed ? [...classes.keys()] : [];
  });
  const write = query("gatewayClass", (q, name: string): Write | undefined => {
    const known = classes.get(name);
    if (known === undefined || q.read(observed, name) !== undefined) return undefined;
    const { controller: controllerName, description } = known;
    const object = { metadata: { name }, spec: { controllerName, description } };
    return { action: "create", type, object, base: undefined };
  });
  return {
    name: "gateway class controller",
    watches: [{ type, collection: observed, fields: {}, select: () => true }],
    targets,
    write,
  };
}
