import { X509Certificate } from "node:crypto";
import { eventually } from "@istiod/outage";
import { servedCertificate } from "../control-plane/served-certificate.js";
import type { Rig } from "../rig.js";
import { namespace } from "../data-plane/workload-objects.js";
import { type AvailabilityEvent, eventMs } from "./event.js";

/** The intermediate CA is replaced, so that all istiods serve their webhooks and xDS with new certificates. */
export const webhookCertificate: AvailabilityEvent = {
  name: "webhook-certificate",
  async run(rig) {
    await rig.ca.renewIntermediate();
    await untilServed(rig);
    await rig.untilComplete();
    return {};
  },
};

/**
 * The root is replaced in three stages, each of which waits for the one before to reach everything: another root is
 * trusted in addition, it signs, and the first one is not trusted any more.
 */
export const rootRotated: AvailabilityEvent = {
  name: "root-rotated",
  async run(rig) {
    await rig.ca.addRoot();
    await untilTrusted(rig);
    await rig.ca.signWithAddedRoot();
    await untilServed(rig);
    await untilIssued(rig);
    await rig.ca.removeOldRoot();
    await untilTrusted(rig);
    await rig.untilComplete();
    return {};
  },
};

/** Waits until all istiods serve certificates of the current intermediate. */
async function untilServed({ controlPlane, ca }: Rig): Promise<void> {
  for (const { webhooks, xds, name } of controlPlane.replicas)
    for (const endpoint of [webhooks, xds])
      await eventually(async () => {
        const certificate = await servedCertificate(endpoint);
        return certificate.verify(ca.intermediateKey) ? undefined : `${name} serves its former certificate`;
      }, eventMs);
}

/** Waits until API servers, agents and proxies trust the current roots, and no others. */
async function untilTrusted({ user, ca, dataPlane }: Rig): Promise<void> {
  await eventually(async () => {
    if ((await user.rootCertificates(namespace)) !== ca.rootsPem) return "istio-ca-root-cert has the former roots";
    const bundle = Buffer.from((await user.caBundle("istio-sidecar-injector")) ?? "", "base64").toString();
    if (bundle !== ca.rootsPem) return "the webhooks have the former CA bundle";
    const former = (await dataPlane.certificates()).filter(({ roots }) => !hasSameRoots(roots, ca.rootsPem));
    return former.length === 0 ? undefined : `${former.length} proxies trust the former roots`;
  }, eventMs);
}

/** Waits until the current intermediate has issued the certificates of all pods. */
async function untilIssued({ dataPlane, ca }: Rig): Promise<void> {
  await eventually(async () => {
    const chains = await dataPlane.certificates();
    const former = chains.filter(({ chain }) => !new X509Certificate(chain).verify(ca.intermediateKey));
    return former.length === 0 ? undefined : `${former.length} pods have their former certificates`;
  }, eventMs);
}

function hasSameRoots(a: string, b: string): boolean {
  const roots = (pem: string): readonly string[] =>
    [...pem.matchAll(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)]
      .map(([text]) => text.replaceAll(/\s/g, ""))
      .toSorted();
  return roots(a).join() === roots(b).join();
}
