import {
  addressType,
  clusterType,
  comparePushOrder,
  endpointType,
  extensionConfigType,
  findXdsType,
  listenerType,
  nameTableType,
  routeType,
  runtimeType,
  scopedRouteType,
  secretType,
  virtualHostType,
  xdsShortName,
  xdsType,
  xdsTypes,
} from "@istiod/resources";
import { expect, test } from "vitest";

test("type URLs are unique", () => {
  expect(new Set(xdsTypes.map(({ typeUrl }) => typeUrl)).size).toBe(xdsTypes.length);
});

test("types are found by URL and by short name in any case", () => {
  expect(findXdsType("CDS")?.typeUrl).toBe("type.googleapis.com/envoy.config.cluster.v3.Cluster");
  expect(findXdsType(endpointType)?.shortName).toBe("eds");
  expect(findXdsType("wds")?.typeUrl).toBe(addressType);
  expect(findXdsType("xyz")).toBeUndefined();
  expect(xdsType("cds")).toBeUndefined();
});

test("a type without a short name in Istio is named by its URL", () => {
  expect(xdsShortName(nameTableType)).toBe("nds");
  expect(xdsShortName(runtimeType)).toBe(runtimeType);
  expect(xdsShortName("constructor")).toBe("constructor");
});

test("the push order is clusters, endpoints, listeners, routes, secrets; others keep their order", () => {
  const types = [runtimeType, secretType, routeType, "custom", listenerType, nameTableType, endpointType, clusterType];
  const ordered = [
    clusterType,
    endpointType,
    listenerType,
    routeType,
    secretType,
    runtimeType,
    "custom",
    nameTableType,
  ];
  expect(types.sort(comparePushOrder)).toEqual(ordered);
});

test("endpoints, routes, secrets, extension configs and virtual hosts are subscribed to by name only", () => {
  const named = xdsTypes.filter(({ subscription }) => subscription === "named").map(({ typeUrl }) => typeUrl);
  expect(named).toEqual([endpointType, routeType, secretType, extensionConfigType, virtualHostType]);
  expect(xdsType(scopedRouteType)?.subscription).toBe("wildcard");
});

test("state-of-the-world responses contain all clusters and all listeners", () => {
  const full = xdsTypes.filter(({ fullState }) => fullState).map(({ typeUrl }) => typeUrl);
  expect(full).toEqual([clusterType, listenerType]);
});
