import { setTimeout as sleep } from "node:timers/promises";
import { reasonOf } from "@istiod/runtime";
import { durationSetting, enumSetting, type SettingValues, booleanSetting, stringArraySetting } from "@istiod/settings";
import { SettingsCommand } from "@istiod/settings/command";
import type { Command } from "commander";
import { formatName, parseName } from "@istiod/push-report";
import {
  type Ask,
  type ControlPlaneStatus,
  formatControlPlaneStatus,
  gatherStatus,
  httpReplicas,
  statusExit,
  statusExits,
} from "@istiod/replicas";
import { absentFiles } from "./absent-files.js";
import { istiodHelp, istiodUrls, noAnswer } from "./control-plane-flags.js";
import { type MeshFlags, meshFlags } from "./mesh-flags.js";
import type { OfflineMeshes } from "./offline-mesh.js";
import { exitOfFiles, formatFileStatuses, rejectedObjects, statusesOfFiles } from "./status-of-files.js";

export interface StatusOutput {
  readonly print: (text: string) => void;
  readonly warn: (text: string) => void;
  readonly exit: (status: number) => void;
}

const statusFlags = {
  for: enumSetting<"live" | "gone">(
    { flag: "for", placeholder: "state", default: "live", help: "required state of the objects: live or gone" },
    ["live", "gone"],
  ),
  wait: booleanSetting({
    flag: "wait",
    default: false,
    help: "wait until the objects reach the state on all proxies, or cannot reach it",
  }),
  timeout: durationSetting({ flag: "timeout", default: 60_000, help: "timeout of --wait" }),
  output: enumSetting<"text" | "json">(
    { flag: "output", short: "o", placeholder: "format", default: "text", help: "output format: text or json" },
    ["text", "json"],
  ),
  istiod: stringArraySetting({
    flag: "istiod",
    placeholder: "url",
    default: [],
    help: `${istiodHelp}; repeatable, to name each replica`,
  }),
} as const;

type StatusFlags = SettingValues<typeof statusFlags> & MeshFlags;

const pollMs = 250;

/**
 * The command `istiod status`: prints the number of proxies of all replicas on which objects are live, or the statuses
 * of the Gateway API's objects of a directory.
 */
export function statusCommand(meshes: OfflineMeshes, statusOutput: StatusOutput): Command {
  const { print, warn, exit } = statusOutput;
  const ofFiles = filesReport(meshes, statusOutput);
  return new SettingsCommand("status")
    .description(
      "Print the number of affected proxies of all replicas on which objects are live, or from which deleted objects are gone. With --configDir, print the statuses that istiod would write of the Gateway API's objects in the directory. Exit status: 0 if all are, 1 if not all are yet, 2 on errors, 3 if an object is rejected, 4 if an object has no effect or an unresolved reference, 5 if a replica does not answer.",
    )
    .argument("[objects...]", "KIND/NAMESPACE/NAME; default: the objects that changed last")
    .addSettings(statusFlags, {})
    .addSettings(meshFlags, meshes.env)
    .action(async (objects: readonly string[], flags: StatusFlags) => {
      try {
        if (flags.configDir !== "") return await ofFiles(objects, flags);
        const names = objects.map((object) => formatName(parseName(object)));
        const status = await awaited(httpReplicas(istiodUrls(flags.istiod)), names, flags);
        if (status.replicas.length === 0) throw noAnswer(status);
        print(flags.output === "json" ? `${JSON.stringify(status, undefined, 2)}\n` : formatControlPlaneStatus(status));
        exit(statusExit(status, names, flags.for));
      } catch (error) {
        warn(`istiod status: ${reasonOf(error)}\n`);
        exit(statusExits.failed);
      }
    });
}

type FilesReport = (objects: readonly string[], flags: StatusFlags) => Promise<void>;

function filesReport({ readMesh }: OfflineMeshes, { print, warn, exit }: StatusOutput): FilesReport {
  return async (objects, flags) => {
    const { istiod, wait, output } = flags;
    if (istiod.length > 0 || wait) throw new Error("--configDir: files have no proxies; leave out --istiod and --wait");
    for (const sentence of await absentFiles(flags)) warn(`${sentence}\n`);
    const mesh = await readMesh(flags);
    const rejected = rejectedObjects(mesh);
    rejected.forEach(warn);
    const statuses = statusesOfFiles(mesh, objects);
    print(output === "json" ? `${JSON.stringify(statuses, apiFields, 2)}\n` : formatFileStatuses(statuses));
    exit(rejected.length > 0 ? statusExits.rejected : exitOfFiles(statuses));
  };
}

/** Asks for the status, with `--wait` until it is final. A replica that does not answer may do so later, or be gone. */
async function awaited(
  ask: Ask,
  objects: readonly string[],
  { wait, for: goal, timeout }: StatusFlags,
): Promise<ControlPlaneStatus> {
  const until = Date.now() + timeout;
  // Once istiod has caught up with the API server's state at the start of the command, it need not do so again.
  let latest = objects.length > 0;
  for (;;) {
    const status = await gatherStatus(ask, { objects, latest });
    const exit = statusExit(status, objects, goal);
    const isComplete = status.failures.length + status.silent.length === 0;
    if (isComplete && status.objects.every(({ unread }) => unread.length === 0)) latest = false;
    const isOver = exit !== statusExits.notLive && exit !== statusExits.incomplete && !status.gathering;
    const isHopeless = status.replicas.length === 0;
    if (!wait || isOver || isHopeless || Date.now() >= until) return status;
    await sleep(Math.min(pollMs, Math.max(1, until - Date.now())));
  }
}

/** Leaves out what the API does not have in conditions: notes, which their messages have too. */
function apiFields(name: string, value: unknown): unknown {
  return name === "notes" ? undefined : value;
}
