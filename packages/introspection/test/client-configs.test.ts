import { fromBinary } from "@bufbuild/protobuf";
import { ClientConfigSchema, ConfigStatus } from "@istiod/envoy-api/envoy/service/status/v3/csds";
import { clientConfigs } from "@istiod/introspection";
import { node } from "@istiod/mesh-source/testing";
import { proxyFromNode } from "@istiod/push-context";
import { type Connection, clusterType } from "@istiod/xds-server";
import { expect, it } from "vitest";

it("reports a watched type that was never sent as not sent", () => {
  const subscription = {
    typeUrl: clusterType,
    wildcard: true,
    names: Object.assign(new Set<string>(), { outside: () => [] }),
    sent: undefined,
    sentOf: () => undefined,
    stateOf: () => undefined,
    unaccepted: [],
    unremoved: [],
    nonceSent: "",
    nonceAcked: "",
    versionSent: "",
    versionAcked: "",
  };
  const connection: Connection = {
    id: "c",
    node: node("web.shop", "10.0.0.1"),
    peer: { address: "", port: 0, headers: {} },
    variant: "delta",
    connectedAt: 0,
    outstandingBytes: 0,
    subscriptions: [subscription],
  };
  const [found] = clientConfigs(
    [connection, { ...connection, subscriptions: [] }],
    ({ node: of }) => proxyFromNode({ id: of.id }),
    undefined,
  );
  expect(fromBinary(ClientConfigSchema, found?.bytes ?? new Uint8Array()).genericXdsConfigs).toMatchObject([
    { typeUrl: clusterType, configStatus: ConfigStatus.NOT_SENT },
  ]);
  expect(
    clientConfigs([{ ...connection, subscriptions: [] }], ({ node: of }) => proxyFromNode({ id: of.id }), undefined),
  ).toEqual([]);
});
