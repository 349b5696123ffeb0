import { formatProblem, readText } from "@istiod/config-schema";
import { describe, expect, test } from "vitest";

const document = (apiVersion: string, kind: string): string =>
  `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: a, namespace: b}\n`;
const problems = (apiVersion: string, kind: string): string[] =>
  readText(document(apiVersion, kind), "a.yaml").flatMap((reading) => reading.problems.map(formatProblem));

describe("a document of a kind that is not read", () => {
  test.each([
    [
      "networking.istio.io/v1",
      "VirtualServce",
      "a.yaml:2: VirtualServce b/a: kind: is VirtualServce, which does not exist in networking.istio.io/v1; did you mean VirtualService?",
    ],
    ["v1", "Servcie", "a.yaml:2: Servcie b/a: kind: is Servcie, which does not exist in v1; did you mean Service?"],
    [
      "networking.istio.io/v1",
      "PeerAuthentication",
      "a.yaml:1: PeerAuthentication b/a: apiVersion: is networking.istio.io/v1, expected security.istio.io/v1 or security.istio.io/v1beta1 for PeerAuthentication",
    ],
    [
      "networking.isto.io/v1",
      "VirtualService",
      "a.yaml:1: VirtualService b/a: apiVersion: is networking.isto.io/v1, expected networking.istio.io/v1 or networking.istio.io/v1beta1 or networking.istio.io/v1alpha3 for VirtualService",
    ],
    [
      "v1",
      "VirtualService",
      "a.yaml:1: VirtualService b/a: apiVersion: is v1, expected networking.istio.io/v1 or networking.istio.io/v1beta1 or networking.istio.io/v1alpha3 for VirtualService",
    ],
    [
      "gateway.networking.x-k8s.io/v1alpha1",
      "XMesh",
      "a.yaml:2: XMesh b/a: kind: is XMesh, which is not supported yet: the object has no effect",
    ],
    [
      "gateway.networking.k8s.io/v1",
      "HttpRoute",
      "a.yaml:2: HttpRoute b/a: kind: is HttpRoute, which does not exist in gateway.networking.k8s.io/v1; did you mean HTTPRoute?",
    ],
    [
      "authentication.istio.io/v1alpha1",
      "Policy",
      "a.yaml:2: Policy b/a: kind: is Policy, which does not exist in authentication.istio.io/v1alpha1; Istio has no kinds in group authentication.istio.io",
    ],
  ])("%s %s is told", (apiVersion, kind, expected) => {
    expect(problems(apiVersion, kind)).toEqual([expected]);
  });

  test.each([
    ["apps/v1", "StatefulSet"],
    ["batch/v1", "Job"],
    ["v1", "Endpoints"],
    ["serving.knative.dev/v1", "Service"],
  ])("%s %s does not concern a mesh and is only counted", (apiVersion, kind) => {
    const [reading] = readText(document(apiVersion, kind), "a.yaml");
    expect(reading).toMatchObject({ problems: [], ignored: new Map([[kind, 1]]), unreadable: false });
  });
});
