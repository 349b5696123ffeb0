import { clusterType, staticSource } from "@istiod/xds-server";
import { expect, it } from "vitest";
import { onEach, setup } from "./harness.js";

const healthType = "example.io/health";

onEach(["memory", "http2"], (variant, transport) => {
  it("a request of a type that clients report by is passed to the source, and gets no response", async () => {
    const reports: unknown[] = [];
    const source = Object.assign(staticSource({ [clusterType]: [] }), {
      report: (_: unknown, typeUrl: string, error: { readonly message: string } | undefined): boolean => {
        if (typeUrl !== healthType) return false;
        reports.push(error?.message);
        return true;
      },
    });
    const { client } = await setup(variant, transport, {}, {}, source);
    const agent = client();
    agent.subscribe(clusterType);
    await agent.accept(clusterType);
    agent.send({ typeUrl: healthType, error: "probe failed" });
    agent.send({ typeUrl: healthType });
    expect(await agent.settled()).toEqual([]);
    expect(reports).toEqual(["probe failed", undefined]);
  });
});
