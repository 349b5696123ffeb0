import { Code, ConnectError } from "@connectrpc/connect";
import {
  type RegisteredWorkload,
  RegistrationError,
  registrationMetrics,
  type Workload,
  WorkloadRegistration,
} from "@istiod/controllers";
import type { ApiClient } from "@istiod/kubernetes";
import type { Proxy } from "@istiod/push-context";
import { discoveryFeatures } from "@istiod/service-discovery";
import type { Startup } from "../phases/startup.js";
import { variables } from "../variables.js";
import { instanceIdentity } from "./instance-identity.js";

const codes = {
  precondition: Code.FailedPrecondition,
  denied: Code.PermissionDenied,
  unavailable: Code.Unavailable,
} as const;

/**
 * Returns the registration of proxies outside of Kubernetes as WorkloadEntries; undefined if variables disable it. The
 * returned function throws a ConnectError that rejects the stream.
 */
export function workloadRegistration(
  { values, env, log, meter, closers }: Startup,
  client: ApiClient,
): ((proxy: Proxy) => Promise<RegisteredWorkload | undefined>) | undefined {
  const registers = variables.registersWorkloads.read(env);
  const reportsHealth = discoveryFeatures.workloadEntryHealthChecks.setting.read(env);
  if (!registers && !reportsHealth) return undefined;
  const maxAge = values.keepaliveMaxServerConnectionAge;
  const namespace = variables.watchNamespace.read(env);
  const registration = new WorkloadRegistration({
    client,
    log: log.child({ scope: "wle" }),
    metrics: registrationMetrics(meter),
    identity: instanceIdentity(env),
    graceMs: variables.workloadGracePeriod.read(env),
    maxConnectionMs: maxAge > 0 ? maxAge * 1.5 : Infinity,
    registers,
    reportsHealth,
    validatesIdentity: variables.validatesWorkloadIdentity.read(env),
    ...(namespace !== "" && { namespace }),
  });
  // Closed after the server, so that the end of its streams is written.
  closers.defer(() => registration.stop());
  return async (proxy) => {
    try {
      return await registration.opened(workloadOf(proxy));
    } catch (error) {
      if (error instanceof RegistrationError) throw new ConnectError(error.message, codes[error.code]);
      throw error;
    }
  };
}

function workloadOf({ id, namespace, ipAddresses, metadata, nodeLocality, verifiedIdentity }: Proxy): Workload {
  const { region = "", zone = "", subzone = "" } = nodeLocality ?? {};
  const locality = [region, zone, subzone].join("/").replace(/\/+$/, "");
  return {
    id,
    namespace: metadata.NAMESPACE || namespace,
    ...(metadata.AUTO_REGISTER_GROUP && { group: metadata.AUTO_REGISTER_GROUP }),
    ...(metadata.WORKLOAD_ENTRY && { entry: metadata.WORKLOAD_ENTRY }),
    address: ipAddresses[0] ?? "",
    ...(metadata.NETWORK && { network: metadata.NETWORK }),
    ...(locality && { locality }),
    labels: metadata.LABELS ?? {},
    acceptsTunnels: metadata.ENABLE_HBONE === true,
    isProbed: metadata.PROXY_CONFIG?.readinessProbe !== undefined,
    ...(verifiedIdentity && { identity: verifiedIdentity }),
  };
}
