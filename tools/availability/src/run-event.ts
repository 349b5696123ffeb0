import { describeLoss, eventually } from "@istiod/outage";
import type { AvailabilityEvent, EventSettings } from "./events/event.js";
import type { Rig } from "./rig.js";
import type { EventResult } from "./verdict.js";

/** Milliseconds in which every proxy must be current after an event. */
const currentMs = 120_000;

/** Lets an event happen, waits until everything is current, and returns what was seen meanwhile. */
export async function runEvent(rig: Rig, event: AvailabilityEvent, settings: EventSettings): Promise<EventResult> {
  const { fleet, changes, dataPlane, admission } = rig;
  fleet.monitor.expect(
    (loss) =>
      changes.isExpected(loss) ||
      dataPlane.removedAddresses.some((address) => loss.part?.includes(JSON.stringify(address))),
  );
  fleet.monitor.take();
  fleet.takeReconnections();
  admission.take();
  await dataPlane.traffic.take();
  dataPlane.takeCpuWait();
  const [written, startedAt] = [changes.written, performance.now()];
  const figures = await event.run(rig, settings);
  await eventually(() => (changes.written > written ? undefined : "no change was written"), currentMs);
  await changes.stop();
  const lostUpdates = await differencesFromFresh(rig);
  const result: EventResult = {
    ...figures,
    event: event.name,
    seconds: (performance.now() - startedAt) / 1000,
    traffic: await dataPlane.traffic.take(),
    cpuWait: dataPlane.takeCpuWait(),
    admission: admission.take(),
    changes: changes.written - written,
    reconnections: fleet.takeReconnections(),
    lostUpdates,
    losses: fleet.monitor.take().map(describeLoss),
  };
  changes.start(rig.options.changeMs);
  return result;
}

/** Returns what proxies do not have, in comparison with a new istiod, for as long as they may be behind. */
async function differencesFromFresh(rig: Rig): Promise<readonly string[]> {
  const fresh = await rig.startFresh();
  let differences: readonly string[] = [];
  try {
    await eventually(async () => {
      differences = await rig.fleet.differences(fresh.xds);
      return differences.length === 0 ? undefined : "differences";
    }, currentMs).catch(() => undefined);
    return differences;
  } finally {
    await fresh.stop();
  }
}
