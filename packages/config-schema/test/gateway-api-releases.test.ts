import { unsupportedDefinition } from "@istiod/config-schema";
import { expect, it } from "vitest";

const minimumOf = (name: string, release: string | undefined): string | undefined =>
  unsupportedDefinition(
    name.includes(".") ? name : `${name}.gateway.networking.k8s.io`,
    release === undefined ? {} : { "gateway.networking.k8s.io/bundle-version": release },
  )?.minimum;

it.each([
  ["tcproutes", "v1.5.1", "v1.6.0"],
  ["tcproutes", "v1.6.0-rc.1", undefined],
  ["tcproutes", "v1.10.0", undefined],
  ["tcproutes", "v2.0.0", undefined],
  ["tlsroutes", "1.4", "v1.5.0"],
  ["grpcroutes", "v1.0.0", "v1.1.0"],
  ["backendtlspolicies", undefined, "v1.4.0"],
  ["backendtlspolicies", "latest", "v1.4.0"],
  ["httproutes", "v0.1.0", undefined],
  ["xbackends.gateway.networking.x-k8s.io", "v1.6.1", "v1.7.0"],
  ["xbackends.gateway.networking.x-k8s.io", "v0.0.0-dev", "v1.7.0"],
  ["xbackends.gateway.networking.x-k8s.io", "v1.7.0", undefined],
])("%s of release %s need %s", (name, release, minimum) => {
  expect(minimumOf(name, release)).toBe(minimum);
});
