import { watch } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findingChanges, formatFinding } from "./findings.js";
import type { IstiodClient } from "./istiod-client.js";
import type { Lifecycle } from "./lifecycle.js";
import type { Ports } from "./ports.js";
import { saveReport } from "./save-report.js";
import { followSave } from "./saves.js";
import { labeled, type Screen, shownPath } from "./screen.js";
import { isYaml, type ServedConfig } from "./served-config.js";
import { Traffic } from "./traffic.js";
import type { Workload } from "./workload.js";

export interface WatchMeshOptions {
  /** The directory that the user edits. */
  readonly config: string;
  readonly served: ServedConfig;
  readonly istiod: IstiodClient;
  /** The gateway that serves the product page; undefined: no traffic. */
  readonly gateway: Workload | undefined;
  readonly ports: Ports;
  readonly lifecycle: Lifecycle;
  readonly screen: Screen;
}

const REQUESTS_PER_SECOND = 50;
const TICK = 25;
/** Editors save in several steps. Shorter than istiod's own debounce. */
const EVENTS_WITHIN = 50;
const STATUS_EVERY = 2000;

/** Reports each save and the traffic split until the demo ends. */
export async function watchMesh({
  config,
  served,
  istiod: { read, readFindings },
  gateway,
  ports,
  lifecycle,
  screen,
}: WatchMeshOptions): Promise<void> {
  const traffic = gateway && new Traffic({ address: gateway.address, port: ports.gateway });
  if (traffic) await lifecycle.add({ stop: () => traffic.stop() });
  traffic?.start(REQUESTS_PER_SECOND);
  let savedAt = 0;
  let eventAt = 0;
  const watcher = watch(config, (_event, name) => {
    if (name === null || !isYaml(name)) return;
    eventAt = Date.now();
    savedAt ||= eventAt;
  });
  await lifecycle.add({ stop: () => watcher.close() });
  let snapshot = await read();
  for (const { severity, text } of snapshot.problems)
    screen.say(labeled(severity === "error" ? "rejected" : "warning", served.translate(text)));
  let findings = await readFindings();
  for (const finding of findings) screen.say(labeled("finding", served.translate(formatFinding(finding))));
  screen.say(
    `\n${gateway ? `Open http://${gateway.address}:${ports.gateway}/productpage. ` : ""}Edit ${shownPath(join(config, "traffic.yaml"))}, save, and watch. Ctrl-C ends everything.\n`,
  );
  let caller = "";
  for (let shownAt = Date.now(); !lifecycle.isEnding; await sleep(TICK)) {
    if (savedAt > 0 && Date.now() - eventAt >= EVENTS_WITHIN) {
      const from = savedAt;
      savedAt = 0;
      await served.refresh();
      const result = await followSave(read, snapshot, from);
      const foundNow = await readFindings();
      const changes = findingChanges(findings, foundNow);
      findings = foundNow;
      for (const line of saveReport(result, result.after.proxies.length, served.translate, changes)) screen.say(line);
      snapshot = result.after;
      traffic?.forget();
      shownAt = Date.now();
    } else if (traffic && Date.now() - shownAt >= STATUS_EVERY) {
      const first = traffic.samples.length < REQUESTS_PER_SECOND * 3;
      screen.status(split(traffic), first);
      const peer = traffic.samples.findLast((sample) => sample.ok)?.peer ?? "";
      if (peer !== caller)
        screen.say(
          labeled(
            "mutual TLS",
            peer === ""
              ? "the proxy of reviews verifies no caller"
              : `the proxy of reviews verified its caller as ${peer}`,
          ),
        );
      caller = peer;
      shownAt = Date.now();
    }
  }
}

function split({ samples }: Traffic): string {
  const good = samples.filter((sample) => sample.ok);
  const versions = [...new Set(good.map((sample) => sample.version))].sort();
  const shares = versions.map(
    (version) =>
      `${version} ${((100 * good.filter((sample) => sample.version === version).length) / good.length).toFixed(0)} %`,
  );
  const failed = samples.length - good.length;
  return labeled(
    "reviews",
    `${shares.join(", ") || "no response yet"} of the last ${samples.length} requests${failed ? `, ${failed} failed` : ""}`,
  );
}
