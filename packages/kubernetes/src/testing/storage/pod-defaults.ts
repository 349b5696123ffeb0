import { isJsonObject, type JsonObject } from "./object.js";

/** Sets the fields that an object does not have. */
export function setDefaults(object: JsonObject, defaults: JsonObject): void {
  for (const [field, value] of Object.entries(defaults)) if (object[field] === undefined) object[field] = value;
}

export const objectsIn = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : [];

/** Sets the defaults of the specification of a Pod, also of one in a template. */
export function defaultPodSpec(spec: JsonObject): void {
  setDefaults(spec, {
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    dnsPolicy: "ClusterFirst",
    securityContext: {},
    schedulerName: "default-scheduler",
  });
  const account = spec.serviceAccountName ?? spec.serviceAccount;
  if (account !== undefined) Object.assign(spec, { serviceAccountName: account, serviceAccount: account });
  for (const list of ["containers", "initContainers"]) objectsIn(spec[list]).forEach(defaultContainer);
  objectsIn(spec.volumes).forEach(defaultVolume);
}

function defaultContainer(container: JsonObject): void {
  setDefaults(container, {
    resources: {},
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: pullPolicyOf(String(container.image)),
  });
  for (const port of objectsIn(container.ports)) setDefaults(port, { protocol: "TCP" });
  for (const { valueFrom } of objectsIn(container.env)) if (isJsonObject(valueFrom)) defaultFieldRef(valueFrom);
  for (const probe of ["livenessProbe", "readinessProbe", "startupProbe"]) defaultProbe(container[probe]);
  const { resources } = container;
  if (isJsonObject(resources) && isJsonObject(resources.limits)) {
    const requests = isJsonObject(resources.requests) ? resources.requests : {};
    resources.requests = { ...resources.limits, ...requests };
  }
}

/** Always for the tag latest, which is also the default tag. */
function pullPolicyOf(image: string): string {
  const name = image.slice(image.lastIndexOf("/") + 1);
  const [, tag = "latest"] = name.split(":");
  return tag === "latest" && !name.includes("@") ? "Always" : "IfNotPresent";
}

function defaultProbe(probe: unknown): void {
  if (!isJsonObject(probe)) return;
  setDefaults(probe, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 });
  if (isJsonObject(probe.httpGet)) setDefaults(probe.httpGet, { path: "/", scheme: "HTTP" });
}

const defaultFileMode = 0o644;

function defaultVolume({ configMap, secret, downwardAPI, projected }: JsonObject): void {
  for (const source of [configMap, secret, downwardAPI, projected])
    if (isJsonObject(source)) setDefaults(source, { defaultMode: defaultFileMode });
  if (isJsonObject(downwardAPI)) objectsIn(downwardAPI.items).forEach(defaultFieldRef);
  if (!isJsonObject(projected)) return;
  for (const source of objectsIn(projected.sources)) {
    if (isJsonObject(source.serviceAccountToken)) setDefaults(source.serviceAccountToken, { expirationSeconds: 3600 });
    if (isJsonObject(source.downwardAPI)) objectsIn(source.downwardAPI.items).forEach(defaultFieldRef);
  }
}

function defaultFieldRef({ fieldRef }: JsonObject): void {
  if (isJsonObject(fieldRef)) setDefaults(fieldRef, { apiVersion: "v1" });
}
