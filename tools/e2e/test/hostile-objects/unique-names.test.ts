import { fromBinary } from "@bufbuild/protobuf";
import { TrafficDirection } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { ListenerSchema, type Listener } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { clusterType, endpointType, listenerType, routeType } from "@istiod/resources";
import fc from "fast-check";
import { expect, it } from "vitest";
import { collidingObjects } from "./colliding-objects.js";
import { hostileMesh, offeredTypes, proxiesOf, resourcesFor } from "./mesh.js";

const numRuns = Number(process.env["HOSTILE_OBJECT_CASES"] ?? 60);
const seed = Number(process.env["HOSTILE_OBJECT_SEED"] ?? 1);

/** Returns the values that occur more than once. */
function repeated(values: readonly string[]): readonly string[] {
  return [...new Set(values.filter((value, i) => values.indexOf(value) !== i))];
}

/**
 * Returns the names that several filter chains of a listener have. Envoy needs unique ones if a matcher chooses among
 * the chains. Those of inbound listeners are Istio's: chains of one port share a name, and differ in their match.
 */
function repeatedChainNames({ trafficDirection, filterChains, filterChainMatcher }: Listener): readonly string[] {
  if (trafficDirection === TrafficDirection.INBOUND && filterChainMatcher === undefined) return [];
  return repeated(filterChains.flatMap((chain) => (chain.name === "" ? [] : [chain.name])));
}

/** Returns the addresses of a listener as `protocol address:port`. */
function addressesOf({ address, additionalAddresses }: Listener): readonly string[] {
  return [address, ...additionalAddresses.map((additional) => additional.address)].flatMap((each) => {
    if (each?.address.case !== "socketAddress") return [];
    const { address: host, portSpecifier, protocol } = each.address.value;
    return [`${protocol} ${host.includes(":") ? new URL(`http://[${host}]`).hostname : host}:${portSpecifier.value}`];
  });
}

it(
  "no two resources, addresses, filter chains, virtual hosts or domains of colliding objects are equal",
  () => {
    expect([...offeredTypes].sort()).toEqual([clusterType, endpointType, listenerType, routeType].sort());
    fc.assert(
      fc.property(collidingObjects, (objects) => {
        const { database } = hostileMesh(objects);
        for (const proxy of proxiesOf([])) {
          const resources = resourcesFor(database, proxy);
          for (const [type, found] of resources)
            expect([type, repeated(found.map(({ name }) => name))]).toEqual([type, []]);
          const listeners = (resources.get(listenerType) ?? []).map(({ bytes }) => fromBinary(ListenerSchema, bytes));
          expect(repeated(listeners.flatMap(addressesOf))).toEqual([]);
          for (const listener of listeners) {
            const { name, filterChains } = listener;
            const matches = filterChains.map(({ filterChainMatch }) => JSON.stringify(filterChainMatch ?? {}));
            expect([name, repeated(matches)]).toEqual([name, []]);
            expect([name, repeatedChainNames(listener)]).toEqual([name, []]);
          }
          for (const { name, bytes } of resources.get(routeType) ?? []) {
            const { virtualHosts } = fromBinary(RouteConfigurationSchema, bytes);
            const domains = virtualHosts.flatMap((host) => host.domains.map((domain) => domain.toLowerCase()));
            expect([name, repeated(virtualHosts.map((host) => host.name))]).toEqual([name, []]);
            expect([name, repeated(domains)]).toEqual([name, []]);
          }
        }
      }),
      { numRuns, seed },
    );
  },
  60_000 + numRuns * 1000,
);
