import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import {
  injectionWebhookController,
  injectionWebhookMetrics,
  probeValidation,
  type ProbeResult,
  validationWebhookController,
  validationWebhookMetrics,
  warningWebhookController,
} from "@istiod/controllers";
import { ApiError } from "@istiod/kubernetes";
import { MemoryMeter } from "@istiod/metrics/testing";
import { FakeClock } from "@istiod/runtime/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Changeable, eventually, RecordedLog, testCluster, type TestCluster } from "./support/cluster.js";

const bundle = (pem: string): string => Buffer.from(pem).toString("base64");
const rules = [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }];
const webhook = (name: string, fields: object = {}) => ({
  name,
  clientConfig: { service: { name: "istiod", namespace: "istio-system", path: "/inject" }, caBundle: "" },
  rules,
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  failurePolicy: "Fail",
  ...fields,
});
const apiVersion = "admissionregistration.k8s.io/v1";

async function create({ server }: TestCluster, kind: string, name: string, labels: object, webhooks: object[]) {
  await server.objects.create({
    apiVersion,
    kind,
    metadata: { name, labels: labels as Record<string, string> },
    webhooks,
  });
}

interface Seen {
  readonly failurePolicy: string;
  readonly clientConfig: { readonly caBundle?: string; readonly service?: object };
}

function webhooksOf({ server }: TestCluster, kind: string, name: string): readonly Seen[] {
  return (
    (server.objects.get({ apiVersion, kind, name }) as { readonly webhooks?: readonly Seen[] } | undefined)?.webhooks ??
    []
  );
}

it("webhooks that only warn get the CA bundle, by their own label, and no other policy", async () => {
  const kind = "ValidatingWebhookConfiguration";
  const cluster = await testCluster();
  const warning = [webhook("warnings.istio.io", { failurePolicy: "Ignore" })];
  await create(cluster, kind, "warnings", { "internal.istio.io/warnings-rev": "default" }, warning);
  await create(cluster, kind, "canary", { "internal.istio.io/warnings-rev": "canary" }, warning);
  await create(cluster, kind, "validator", { "istio.io/rev": "default" }, [webhook("validation.istio.io")]);
  const options = { roots: new Changeable("root 1"), revision: "default" };
  cluster.run(warningWebhookController(options));
  const probe = (): Promise<ProbeResult> => Promise.resolve({ isRejected: true, reason: "" });
  cluster.run(validationWebhookController({ ...options, log: new RecordedLog(), probe }));
  const stateOf = (name: string) =>
    webhooksOf(cluster, kind, name).map(
      ({ failurePolicy, clientConfig }) => `${failurePolicy} ${clientConfig.caBundle ?? ""}`,
    );
  await eventually(() => expect(stateOf("warnings")).toEqual([`Ignore ${bundle("root 1")}`]));
  await eventually(() => expect(stateOf("validator")).toEqual([`Fail ${bundle("root 1")}`]));
  expect(stateOf("canary")).toEqual(["Ignore "]);
  expect(cluster.writes()).toHaveLength(2);
});

describe("the CA bundle of injection webhooks", () => {
  const kind = "MutatingWebhookConfiguration";
  const bundles = (cluster: TestCluster, name: string) =>
    webhooksOf(cluster, kind, name).map(({ clientConfig }) => clientConfig.caBundle ?? "");

  it("is that of the revision's configurations and of its tags, and of no others", async () => {
    const cluster = await testCluster();
    const names = ["rev.namespace.sidecar-injector.istio.io", "object.sidecar-injector.istio.io", "other.example.com"];
    const webhooks = names.map((name) => webhook(name));
    await create(cluster, kind, "istio-sidecar-injector-canary", { "istio.io/rev": "canary" }, webhooks);
    await create(
      cluster,
      kind,
      "istio-revision-tag-prod",
      { "istio.io/rev": "canary", "istio.io/tag": "prod" },
      webhooks,
    );
    await create(cluster, kind, "istio-sidecar-injector", { "istio.io/rev": "default" }, webhooks);
    await create(cluster, kind, "unrelated", {}, webhooks);
    cluster.run(injectionWebhookController({ roots: new Changeable("root 1"), revision: "canary" }));
    const patched = [bundle("root 1"), bundle("root 1"), ""];
    await eventually(() => expect(bundles(cluster, "istio-sidecar-injector-canary")).toEqual(patched));
    await eventually(() => expect(bundles(cluster, "istio-revision-tag-prod")).toEqual(patched));
    expect(bundles(cluster, "istio-sidecar-injector")).toEqual(["", "", ""]);
    expect(bundles(cluster, "unrelated")).toEqual(["", "", ""]);
    expect(cluster.writes()).toHaveLength(2);
    const [first] = webhooksOf(cluster, kind, "istio-sidecar-injector-canary");
    expect(first).toMatchObject({ rules, failurePolicy: "Fail", clientConfig: { service: { path: "/inject" } } });
  });

  it("follows the rotation of the root, and is restored after an edit", async () => {
    const cluster = await testCluster();
    const roots = new Changeable("root 1");
    const labels = { "istio.io/rev": "default" };
    await create(cluster, kind, "istio-sidecar-injector", labels, [webhook("sidecar-injector.istio.io")]);
    cluster.run(injectionWebhookController({ roots, revision: "default" }));
    await eventually(() => expect(bundles(cluster, "istio-sidecar-injector")).toEqual([bundle("root 1")]));
    roots.set("root 1\nroot 2");
    await eventually(() => expect(bundles(cluster, "istio-sidecar-injector")).toEqual([bundle("root 1\nroot 2")]));
    await cluster.server.objects.update({
      apiVersion,
      kind,
      metadata: { name: "istio-sidecar-injector", labels },
      webhooks: [webhook("sidecar-injector.istio.io"), webhook("object.sidecar-injector.istio.io")],
    });
    const both = [bundle("root 1\nroot 2"), bundle("root 1\nroot 2")];
    await eventually(() => expect(bundles(cluster, "istio-sidecar-injector")).toEqual(both));
  });

  it("moves with a tag to another revision", async () => {
    const cluster = await testCluster();
    const tagged = (revision: string) => ({ "istio.io/rev": revision, "istio.io/tag": "prod" });
    await create(cluster, kind, "istio-revision-tag-prod", tagged("blue"), [webhook("sidecar-injector.istio.io")]);
    cluster.run(injectionWebhookController({ roots: new Changeable("blue"), revision: "blue" }));
    cluster.run(injectionWebhookController({ roots: new Changeable("green"), revision: "green" }));
    await eventually(() => expect(bundles(cluster, "istio-revision-tag-prod")).toEqual([bundle("blue")]));
    await cluster.server.objects.apply({
      apiVersion,
      kind,
      metadata: { name: "istio-revision-tag-prod", labels: tagged("green") },
    });
    await eventually(() => expect(bundles(cluster, "istio-revision-tag-prod")).toEqual([bundle("green")]));
  });

  it("is written once by several istiods of a revision, and not again on a restart", async () => {
    const cluster = await testCluster();
    const labels = { "istio.io/rev": "default" };
    await create(cluster, kind, "istio-sidecar-injector", labels, [webhook("sidecar-injector.istio.io")]);
    const roots = new Changeable("root 1");
    const first = cluster.run(injectionWebhookController({ roots, revision: "default" }));
    await eventually(() => expect(bundles(cluster, "istio-sidecar-injector")).toEqual([bundle("root 1")]));
    first.stop();
    const watches = (): number => cluster.server.requests.filter(({ isWatch }) => isWatch).length;
    const before = watches();
    cluster.run(injectionWebhookController({ roots, revision: "default" }));
    await eventually(() => expect(watches()).toBeGreaterThan(before));
    const other = {
      apiVersion,
      kind,
      metadata: { name: "a", labels },
      webhooks: [webhook("sidecar-injector.istio.io")],
    };
    await cluster.server.objects.create(other);
    await eventually(() => expect(bundles(cluster, "a")).toEqual([bundle("root 1")]));
    expect(cluster.writes()).toHaveLength(2);
  });
});

describe("writes of webhook configurations", () => {
  it("are counted with their failures", async () => {
    const cluster = await testCluster();
    const meter = new MemoryMeter();
    const labels = { "istio.io/rev": "default" };
    const name = "istio-sidecar-injector";
    await create(cluster, "MutatingWebhookConfiguration", name, labels, [webhook("sidecar-injector.istio.io")]);
    await create(cluster, "ValidatingWebhookConfiguration", name, labels, [webhook("rev.validation.istio.io")]);
    const roots = new Changeable("root 1");
    const probe = async () => ({ isRejected: true, reason: "" });
    const injection = injectionWebhookMetrics(meter);
    const validation = validationWebhookMetrics(meter);
    cluster.run(injectionWebhookController({ roots, revision: "default" }), { onWrite: injection });
    const validator = { roots, revision: "default", log: new RecordedLog(), probe };
    cluster.run(validationWebhookController(validator), { onWrite: validation });
    const attempts = { name: "sidecar-injector.istio.io" };
    await eventually(() => expect(meter.value("webhook_patch_attempts_total", attempts)).toBe(1));
    await eventually(() => expect(meter.value("galley_validation_config_updates")).toBe(1));

    const type = { group: "", version: "v1", kind: "A", plural: "as", namespaced: false };
    const write = { action: "update", type, base: "1", name: { name }, fields: {} } as const;
    const error = new ApiError("forbidden", "403 Forbidden", { reason: "Forbidden" });
    injection(write, error);
    validation(write, error);
    const failed = { name, reason: "webhook_update_failure" };
    expect([
      meter.value("webhook_patch_attempts_total", attempts),
      meter.value("webhook_patch_retries_total", { name }),
      meter.value("webhook_patch_failures_total", failed),
      meter.value("galley_validation_config_update_error", { reason: "Forbidden" }),
    ]).toEqual([2, 1, 1, 1]);
  });
});

describe("the failurePolicy of validation webhooks", () => {
  const kind = "ValidatingWebhookConfiguration";
  const name = "istio-validator-istio-system";
  const labels = { "istio.io/rev": "default" };
  const stateOf = (cluster: TestCluster, of = name) =>
    webhooksOf(cluster, kind, of).map(({ failurePolicy, clientConfig }) => [failurePolicy, clientConfig.caBundle]);

  const start = async (results: readonly ProbeResult[]) => {
    const cluster = await testCluster();
    const clock = new FakeClock();
    const log = new RecordedLog();
    let probes = 0;
    await create(cluster, kind, name, labels, [
      webhook("rev.validation.istio.io", { failurePolicy: "Ignore" }),
      webhook("rev.object.validation.istio.io", { failurePolicy: "Ignore" }),
    ]);
    const roots = new Changeable("root 1");
    cluster.run(
      validationWebhookController({
        roots,
        revision: "default",
        clock,
        random: () => 1,
        log,
        probe: async () => results[Math.min(probes++, results.length - 1)] ?? { isRejected: false, reason: "" },
      }),
    );
    return { cluster, clock, log, roots, probes: () => probes };
  };
  const admitted = { isRejected: false, reason: "the invalid object was not rejected" };
  const rejected = { isRejected: true, reason: "" };

  it("is Fail only after the webhook has rejected an object; the CA bundle is written before", async () => {
    const { cluster, clock, log, probes } = await start([admitted, admitted, rejected]);
    const open = ["Ignore", bundle("root 1")];
    await eventually(() => expect(stateOf(cluster)).toEqual([open, open]));
    for (const delay of [100, 200]) {
      await eventually(() => expect(clock.pending).toEqual([delay]));
      expect(stateOf(cluster)).toEqual([open, open]);
      clock.advance(delay);
    }
    const closed = ["Fail", bundle("root 1")];
    await eventually(() => expect(stateOf(cluster)).toEqual([closed, closed]));
    expect(probes()).toBe(3);
    expect(log.lines.filter((line) => line.includes("not ready to switch"))).toHaveLength(2);
  });

  it("is Fail at once for configurations that come later, and after an edit", async () => {
    const { cluster, probes } = await start([rejected]);
    await eventually(() => expect(stateOf(cluster)[0]?.[0]).toBe("Fail"));
    await create(cluster, kind, "later", labels, [webhook("a.istio.io", { failurePolicy: "Ignore" })]);
    await eventually(() => expect(stateOf(cluster, "later")).toEqual([["Fail", bundle("root 1")]]));
    expect(probes()).toBe(1);
  });

  it("stays as it is if the webhook never answers, with an attempt a minute at least", async () => {
    const { cluster, clock } = await start([admitted]);
    const delays: number[] = [];
    while (delays.length < 12) {
      await eventually(() => expect(clock.pending).toHaveLength(1));
      const [delay = 0] = clock.pending;
      delays.push(delay);
      clock.advance(delay);
    }
    expect(delays.slice(0, 4)).toEqual([100, 200, 400, 800]);
    expect(Math.max(...delays)).toBe(60_000);
    expect(stateOf(cluster)[0]?.[0]).toBe("Ignore");
  });

  it("is not asked for where every webhook is Fail, nor for another revision; the CA bundle follows the root", async () => {
    const cluster = await testCluster();
    const roots = new Changeable("root 1");
    await create(cluster, kind, name, labels, [webhook("rev.validation.istio.io")]);
    await create(cluster, kind, "canary", { "istio.io/rev": "canary" }, [
      webhook("a.istio.io", { failurePolicy: "Ignore" }),
    ]);
    const probe = vi.fn(async () => rejected);
    cluster.run(validationWebhookController({ roots, revision: "default", probe, log: cluster.log }));
    await eventually(() => expect(stateOf(cluster)).toEqual([["Fail", bundle("root 1")]]));
    roots.set("root 2");
    await eventually(() => expect(stateOf(cluster)).toEqual([["Fail", bundle("root 2")]]));
    expect(probe).not.toHaveBeenCalled();
    expect(stateOf(cluster, "canary")).toEqual([["Ignore", ""]]);
  });
});

describe("the probe of the validation webhook", () => {
  const gatewayType = {
    group: "networking.istio.io",
    version: "v1",
    kind: "Gateway",
    plural: "gateways",
    namespaced: true,
  };

  const probed = async (
    options: { readonly types?: boolean; readonly answer?: object; readonly hook?: object } = {},
  ) => {
    const cluster = await testCluster({
      namespaces: ["istio-system"],
      ...(options.types !== false && { types: [gatewayType] }),
    });
    const reviews: { readonly request: { readonly object: { readonly spec: object } } }[] = [];
    if (options.answer !== undefined) {
      const hook = createServer((request, response) => {
        let text = "";
        request.on("data", (chunk: Buffer) => (text += chunk.toString()));
        request.on("end", () => {
          const review = JSON.parse(text) as (typeof reviews)[number] & { request: { uid: string } };
          reviews.push(review);
          const answer = { uid: review.request.uid, ...options.answer };
          response.end(
            JSON.stringify({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", response: answer }),
          );
        });
      });
      hook.listen(0, "127.0.0.1");
      await once(hook, "listening");
      onTestFinished(() => void hook.close());
      await create(cluster, "ValidatingWebhookConfiguration", "validator", {}, [
        webhook("rev.validation.istio.io", {
          clientConfig: { url: `http://127.0.0.1:${(hook.address() as AddressInfo).port}/validate` },
          rules: [{ operations: ["CREATE"], apiGroups: ["networking.istio.io"], apiVersions: ["*"], resources: ["*"] }],
          ...options.hook,
        }),
      ]);
    }
    const { signal } = new AbortController();
    const result = await probeValidation({
      client: cluster.client,
      namespace: "istio-system",
      revision: "default",
      signal,
    });
    const gateways = { apiVersion: "networking.istio.io/v1", kind: "Gateway" };
    return { result, reviews, stored: () => cluster.server.objects.list(gateways) };
  };

  it("is rejected by a webhook that denies, and stores nothing", async () => {
    const { result, reviews, stored } = await probed({ answer: { allowed: false, status: { message: "invalid" } } });
    expect(result).toEqual({ isRejected: true, reason: "" });
    expect(stored()).toEqual([]);
    expect(reviews).toMatchObject([
      {
        request: {
          dryRun: true,
          object: {
            metadata: {
              labels: { "istio.io/rev": "default" },
              annotations: { "internal.istio.io/webhook-always-reject": "true" },
            },
          },
        },
      },
    ]);
  });

  it("is not rejected without a webhook", async () => {
    expect((await probed()).result).toEqual({ isRejected: false, reason: "the invalid object was not rejected" });
  });

  it("tells a webhook that fails from one that denies", async () => {
    const { result } = await probed({ answer: { allowed: false, uid: "another" } });
    expect(result).toMatchObject({
      isRejected: false,
      reason: expect.stringMatching(/^rejected for another reason: .*failed calling webhook/),
    });
  });

  it("counts as rejected where the Gateway type is not served, or a webhook supports no dry run", async () => {
    expect((await probed({ types: false })).result).toMatchObject({
      isRejected: true,
      reason: expect.stringContaining("not served"),
    });
    const { result } = await probed({ answer: { allowed: true }, hook: { sideEffects: "Some" } });
    expect(result).toMatchObject({ isRejected: true, reason: expect.stringContaining("does not support dry run") });
  });
});
