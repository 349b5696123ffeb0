import { Code, ConnectError } from "@connectrpc/connect";
import { clusterType } from "@istiod/xds-server";
import { expect, it } from "vitest";
import { onEach, setup } from "./harness.js";

const debugType = "example.io/debug";

onEach(["memory", "http2"], (variant, transport) => {
  it("a request of an on-demand type is answered by the first handler that knows the type", async () => {
    const { server, client } = await setup(variant, transport, { [clusterType]: [] });
    const asked: unknown[] = [];
    server.handle((node, typeUrl, names) => {
      asked.push([node.id, typeUrl, [...names]]);
      return undefined;
    });
    server.handle((_, typeUrl) =>
      typeUrl === debugType ? { resources: [{ name: "a", typeUrl, bytes: Buffer.from("first") }] } : undefined,
    );
    server.handle((_, typeUrl) => ({ resources: [{ name: "a", typeUrl, bytes: Buffer.from("second") }] }));
    const asking = client();
    asking.subscribe(debugType, ["syncz"]);
    const { resources } = await asking.next(debugType);
    expect(resources.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(["first"]);
    expect(asked).toEqual([["test", debugType, ["syncz"]]]);
  });

  it("the error of a handler ends the stream", async () => {
    const { server, client } = await setup(variant, transport, { [clusterType]: [] });
    server.handle(() => Promise.reject(new ConnectError("not for this caller", Code.PermissionDenied)));
    const asking = client();
    asking.subscribe(debugType, ["syncz"]);
    expect((await asking.ended)?.code).toBe(Code.PermissionDenied);
  });
});
