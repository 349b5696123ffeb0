import type { Fields } from "../../decoding/fields.js";
import type { SelectedFields } from "../selected-fields.js";

/** The parts of a container that analysis reads. */
export interface Container {
  readonly name: string;
  readonly image: string;
  /** Reports whether it is an init container, restartable or not. */
  readonly init: boolean;
  /** User ID of the container's security context. Undefined: the pod's. */
  readonly runAsUser?: number;
  /** Environment variables of istiod that analysis reads, if they have a value. */
  readonly env?: Readonly<Record<string, string>>;
}

const containerFieldsRead: SelectedFields = {
  name: true,
  image: true,
  restartPolicy: true,
  securityContext: { runAsUser: true },
  env: { name: true, value: true },
  ports: { name: true, containerPort: true, protocol: true },
};

/** Fields of a pod's spec that are read of its containers and of its security context. */
export const containerFields: SelectedFields = {
  containers: containerFieldsRead,
  initContainers: containerFieldsRead,
  securityContext: { runAsUser: true },
};

const variablesRead = new Set(["BLOCKED_CIDRS_IN_JWKS_URIS"]);

/** Reads the containers and init containers of a pod's spec, in order. */
export function readContainers(spec: Fields): readonly Container[] {
  const read = (list: string, init: boolean): Container[] =>
    spec.list(list).map((container) => ({
      name: container.string("name"),
      image: container.string("image"),
      init,
      ...readRunAsUser(container),
      ...readEnvironment(container),
    }));
  return [...read("containers", false), ...read("initContainers", true)];
}

/** Returns `securityContext.runAsUser` of a pod's spec or of a container, to be spread into an object. */
export function readRunAsUser(fields: Fields): { readonly runAsUser?: number } {
  const user = fields.object("securityContext").integer("runAsUser");
  return user === undefined ? {} : { runAsUser: user };
}

function readEnvironment(container: Fields): { readonly env?: Readonly<Record<string, string>> } {
  const variables = container.list("env").filter((variable) => variablesRead.has(variable.string("name")));
  const set = variables
    .map((variable) => [variable.string("name"), variable.string("value")] as const)
    .filter(([, value]) => value !== "");
  return set.length === 0 ? {} : { env: Object.fromEntries(set) };
}
