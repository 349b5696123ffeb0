import { createRegistry, type DescMessage, type Registry } from "@bufbuild/protobuf";
import * as wellKnown from "@bufbuild/protobuf/wkt";
import { BootstrapSchema } from "@istiod/envoy-api/envoy/config/bootstrap/v3/bootstrap";
import { ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { TypedExtensionConfigSchema } from "@istiod/envoy-api/envoy/config/core/v3/extension";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import {
  FilterChainSchema,
  FilterSchema,
  ListenerFilterSchema,
} from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { RouteSchema, VirtualHostSchema } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { HttpFilterSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { registry as envoy } from "@istiod/envoy-api/registry";
import { EnvoyFilter_ApplyTo as ApplyTo } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";

/** The message that the value of a patch has. Source: pkg/config/xds/xds.go. */
export const patchedMessages: Readonly<Partial<Record<ApplyTo, DescMessage>>> = {
  [ApplyTo.LISTENER]: ListenerSchema,
  [ApplyTo.FILTER_CHAIN]: FilterChainSchema,
  [ApplyTo.NETWORK_FILTER]: FilterSchema,
  [ApplyTo.HTTP_FILTER]: HttpFilterSchema,
  [ApplyTo.ROUTE_CONFIGURATION]: RouteConfigurationSchema,
  [ApplyTo.VIRTUAL_HOST]: VirtualHostSchema,
  [ApplyTo.HTTP_ROUTE]: RouteSchema,
  [ApplyTo.CLUSTER]: ClusterSchema,
  [ApplyTo.EXTENSION_CONFIG]: TypedExtensionConfigSchema,
  [ApplyTo.BOOTSTRAP]: BootstrapSchema,
  [ApplyTo.LISTENER_FILTER]: ListenerFilterSchema,
};

let messages: Registry | undefined;

/** Returns the message of a full name; undefined if this istiod does not know it. */
export function messageType(name: string): DescMessage | undefined {
  return registry().getMessage(name);
}

export function registry(): Registry {
  return (messages ??= createRegistry(
    ...envoy,
    ...Object.values(wellKnown).filter(
      (value) => typeof value === "object" && "kind" in value && value.kind === "message",
    ),
  ));
}

let byPackage: ReadonlyMap<string, readonly string[]> | undefined;

/** Returns the full names of the known messages in the package of a message. */
export function messagesBeside(name: string): readonly string[] {
  byPackage ??= namesByPackage();
  return byPackage.get(packageOf(name)) ?? [];
}

function namesByPackage(): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>();
  for (const type of registry()) {
    if (type.kind !== "message") continue;
    const of = packageOf(type.typeName);
    names.set(of, [...(names.get(of) ?? []), type.typeName]);
  }
  return names;
}

function packageOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf(".")));
}
