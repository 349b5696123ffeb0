import { type Column, megabytes } from "../fleet/table.js";
import type { AgentCost } from "./agents.js";
import { type Figures, predictAgent } from "./formula.js";
import type { SizedPoint } from "./points.js";

/** Returns the predicted and the measured value, and the error of the prediction in percent of the measured value. */
function compared(predicted: number, measured: number, text: (value: number) => string): string {
  const percent = Math.round((predicted / measured - 1) * 100);
  return `${text(predicted)} / ${text(measured)} (${percent > 0 ? "+" : ""}${percent} %)`;
}

const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);
const seconds = (value: number): string => value.toFixed(1);
const milliseconds = (value: number): string => (value * 1000).toFixed(0);

const figure = (
  head: string,
  of: (figures: Figures) => number,
  text: (value: number) => string,
): Column<SizedPoint> => ({
  head,
  of: ({ predicted, measured }) => compared(of(predicted), of(measured), text),
});

export const pointColumns: readonly Column<SizedPoint>[] = [
  { head: "services", of: ({ size }) => String(size.services) },
  { head: "Pods of each", of: ({ size }) => String(size.pods) },
  { head: "namespaces", of: ({ size }) => String(size.namespaces) },
  { head: "proxies", of: ({ size }) => String(size.proxies) },
  { head: "scoped", of: ({ size }) => (size.isScoped ? "yes" : "no"), left: true },
  figure("memory MiB", ({ peakBytes }) => peakBytes, mebibytes),
  figure("ready CPU s", ({ readyCpuSeconds }) => readyCpuSeconds, seconds),
  figure("connect CPU s", ({ connectCpuSeconds }) => connectCpuSeconds, seconds),
  figure("connect MB", ({ connectBytes }) => connectBytes, megabytes),
  figure("endpoint CPU ms", ({ endpoint }) => endpoint.cpuSeconds, milliseconds),
  figure("endpoint MB", ({ endpoint }) => endpoint.bytes, megabytes),
  figure("route CPU ms", ({ weight }) => weight.cpuSeconds, milliseconds),
  figure("route MB", ({ weight }) => weight.bytes, megabytes),
  { head: "load", of: ({ load }) => load.toFixed(0) },
];

export const agentColumns: readonly Column<AgentCost>[] = [
  { head: "services", of: ({ services }) => String(services) },
  { head: "clusters", of: ({ clusters }) => String(clusters) },
  {
    head: "agent MiB",
    of: ({ agent, clusters }) => compared(predictAgent(clusters).agentBytes, agent.rss, mebibytes),
  },
  {
    head: "Envoy MiB",
    of: ({ envoy, clusters }) => compared(predictAgent(clusters).envoyBytes, envoy.rss, mebibytes),
  },
  {
    head: "of both, in no file",
    of: ({ agent, envoy }) => `${mebibytes(agent.anonymous)} + ${mebibytes(envoy.anonymous)}`,
  },
  { head: "agent CPU s", of: ({ agent }) => agent.cpuSeconds.toFixed(2) },
  { head: "Envoy CPU s", of: ({ envoy }) => envoy.cpuSeconds.toFixed(2) },
  { head: "load", of: ({ load }) => load.toFixed(0) },
];
