import {
  absence,
  chartInstallation,
  filesOf,
  inputOf,
  podsOf,
  type ReferenceCase,
  referenceCases,
  wantOf,
  withoutBootstrapScript,
  withoutResidue,
} from "@istiod/injector/testing";
import { expect, test, vi } from "vitest";
import { serveInjection } from "./injection-webhook.js";

const until = { timeout: 60_000, interval: 20 };
const chart = chartInstallation();
const cases = referenceCases().filter(({ skipWebhook, expectedError }) => !skipWebhook && !expectedError);
const isNative = ({ env }: ReferenceCase): boolean => env?.["ENABLE_NATIVE_SIDECARS"] === "true";

test.for([true, false])(
  "pods that an istiod injects with the chart's templates equal the reference; ENABLE_NATIVE_SIDECARS=%s",
  { timeout: 300_000 },
  async (native, { skip }) => {
    skip(absence !== undefined, absence);
    const own = cases.filter((reference) => isNative(reference) === native);
    const [first] = own;
    if (first === undefined) throw new Error("no cases");
    const webhook = await serveInjection(filesOf(first, chart), { ENABLE_NATIVE_SIDECARS: String(native) });
    const compared = (object: unknown): unknown => withoutBootstrapScript(withoutResidue(object));
    let pods = 0;
    for (const reference of own) {
      await webhook.update(filesOf(reference, chart));
      const wanted = podsOf(wantOf(reference));
      for (const [i, pod] of podsOf(inputOf(reference)).entries()) {
        // istiod follows the ConfigMaps, so the first answers can be those of the case before.
        const injected = await vi.waitFor(async () => {
          const result = await webhook.inject(pod);
          expect(compared(result), reference.want).toEqual(compared(wanted[i]));
          return result;
        }, until);
        expect(withoutResidue(await webhook.inject(injected)), reference.want).toEqual(withoutResidue(injected));
        pods++;
      }
    }
    expect(pods).toBeGreaterThan(own.length / 2);
  },
);

test(
  "on OpenShift, proxies have the user and group that annotations of their namespace assign",
  { timeout: 120_000 },
  async ({ skip }) => {
    skip(absence !== undefined, absence);
    const { server, inject } = await serveInjection(filesOf({ input: "" }, chart), {
      PLATFORM: "openshift",
      ENABLE_NATIVE_SIDECARS: "false",
    });
    const annotations = {
      "openshift.io/sa.scc.uid-range": "1000620000/10000",
      "openshift.io/sa.scc.supplemental-groups": "1000650000/10000",
    };
    await server.objects.create({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "shop", annotations },
    } as never);
    const securityContext = { runAsUser: 1000620000 };
    const pod = {
      metadata: { name: "web", namespace: "shop" },
      spec: {
        containers: [
          { name: "app", image: "app", securityContext: { ...securityContext }, resources: {} },
          // OpenShift gives all containers one user.
          { name: "istio-proxy", image: "auto", securityContext, resources: {} },
        ],
      },
    };
    await vi.waitFor(async () => {
      const { spec } = (await inject(pod)) as typeof pod;
      expect(spec.containers.find(({ name }) => name === "istio-proxy")).toMatchObject({
        securityContext: { runAsUser: 1000629999, runAsGroup: 1000659999 },
      });
      expect(spec.containers.find(({ name }) => name === "app")).toMatchObject({ securityContext });
    }, until);
  },
);
