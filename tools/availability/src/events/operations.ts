import { setTimeout as wait } from "node:timers/promises";
import type { AvailabilityEvent } from "./event.js";

/** A rolling restart of the Deployment. */
export const rollingRestart: AvailabilityEvent = {
  name: "rolling-restart",
  async run(rig) {
    await rig.controlPlane.rollingRestart();
    await rig.untilComplete();
    return {};
  },
};

/** The Deployment is scaled down to one istiod, and up again. */
export const scale: AvailabilityEvent = {
  name: "scale",
  async run(rig) {
    await rig.controlPlane.scale(1);
    await rig.untilComplete();
    await rig.controlPlane.scale(rig.options.replicas);
    await rig.untilComplete();
    return {};
  },
};

/** No istiod reaches the API server. Its users still do, and so it calls the webhooks. */
export const apiServerGone: AvailabilityEvent = {
  name: "api-server-gone",
  async run(rig, { faultSeconds }) {
    await rig.cluster.relay.cut();
    await wait(faultSeconds * 1000);
    await rig.cluster.relay.open();
    await rig.untilComplete();
    return {};
  },
};
