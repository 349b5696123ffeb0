import { parentPort, workerData } from "node:worker_threads";
import { FleetPart, type PartOptions } from "./part.js";

/** Commands to a thread with a part of the fleet. Each is acknowledged, and `report` returns a report. */
export type PartCommand =
  | { readonly do: "connect" | "drop" | "report" }
  | { readonly do: "reset"; readonly connecting: boolean };

if (parentPort !== null) {
  const port = parentPort;
  const part = new FleetPart(workerData as PartOptions);
  port.on("message", (command: PartCommand) => port.postMessage(run(part, command)));
}

export function run(part: FleetPart, command: PartCommand): unknown {
  if (command.do === "report") return part.report();
  if (command.do === "reset") part.reset(command.connecting);
  else part[command.do]();
  return null;
}
