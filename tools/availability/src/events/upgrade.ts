import { eventually } from "@istiod/outage";
import { tagWebhook } from "../cluster/objects.js";
import { type AvailabilityEvent, eventMs } from "./event.js";

/**
 * An upgrade by revision: istiods of another revision are installed, the tag is switched to them, the pods are replaced
 * one after the other, and the istiods of the former revision are removed.
 */
export const upgrade: AvailabilityEvent = {
  name: "upgrade",
  async run(rig) {
    const former = rig.controlPlane;
    const next = await rig.openRevision("canary");
    await rig.untilWebhooksAnswer(next);
    await rig.cluster.objects.write([tagWebhook(next, await rig.user.caBundle("istio-sidecar-injector-canary"))]);
    await eventually(
      () => (rig.admission.injectedBy.includes("canary") ? undefined : "the tag still selects the former revision"),
      eventMs,
    );
    rig.useRevision(next);
    await rig.dataPlane.rollOut(next);
    await rig.fleet.moveOneByOne();
    await former.scale(0);
    await rig.untilComplete();
    return {};
  },
};
