import { chartInstallation, injectionValues } from "@istiod/injector/testing";
import type { ManagedGatewaySettings, Source } from "@istiod/controllers";
import { type InjectorDocuments, parseInjectorConfig, parseValues } from "@istiod/injector";

type Json = Readonly<Record<string, unknown>>;

/** Returns a source whose value does not change. */
export function constant<T>(value: T): Source<T> {
  return { current: () => value, onChange: () => () => undefined };
}

/** The settings of an istiod without variables. */
export const defaultSettings: ManagedGatewaySettings = {
  controllerName: "istio.io/gateway-controller",
  defaultClass: "istio",
  hasWaypoints: false,
  hasEastWest: false,
  hasRemote: true,
  hasAgentgateway: false,
  allowsManualDeployment: true,
  copiesMetadata: true,
  hasQuic: false,
  nativeSidecars: true,
  compliancePolicy: "",
  clusterId: "Kubernetes",
  revision: "",
};

/** Returns the configuration of injection with these templates and values. */
export function injectionOf(
  templates: Readonly<Record<string, string>>,
  values: Json,
): Pick<InjectorDocuments, "config" | "values"> {
  const options = { environment: {}, now: () => 0 };
  return {
    config: parseInjectorConfig(JSON.stringify({ policy: "enabled", templates }), options),
    values: parseValues(JSON.stringify(values)),
  };
}

/** Returns the configuration of injection that the chart installs. */
export function chartInjection(values: Json = {}): ReturnType<typeof injectionOf> {
  const chart = chartInstallation();
  return injectionOf(chart.templates, { ...injectionValues(chart.values as never), ...values });
}
