import {
  rejectedRequestAuthenticationsByNamespace,
  type RequestAuthenticationObject,
  requestAuthenticationsByNamespace,
} from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import type { JWTRule } from "@istiod/istio-api/security/v1beta1/request_authentication";
import { rootNamespace } from "../mesh/mesh-config.js";
import { oldestFirst } from "../attachment/oldest-first.js";
import { namespaceAmong } from "../attachment/own-namespace.js";
import { appliesToClient } from "../attachment/policy-attachment.js";

/** The RequestAuthentications that apply to the client, of its own namespace and the root namespace. */
export const applicableRequestAuthentications = query(
  "applicableRequestAuthentications",
  (q): readonly RequestAuthenticationObject[] => {
    const root = rootNamespace(q);
    const others = q.keys(requestAuthenticationsByNamespace).filter((namespace) => namespace !== root);
    const own = others.length === 0 ? undefined : q.ask(namespaceAmong, others);
    return [...(own === undefined ? [] : [own]), root].flatMap((namespace) =>
      q.call(requestAuthenticationsOf, namespace).filter(({ spec }) => appliesToClient(q, { ...spec, namespace })),
    );
  },
);

/** The JWT rules that apply to the client, sorted by issuer. Source: pilot/pkg/model/authentication.go. */
export const applicableJwtRules = query("applicableJwtRules", (q): readonly JWTRule[] =>
  q
    .call(applicableRequestAuthentications)
    .flatMap(({ spec }) => spec.jwtRules)
    .sort((a, b) => (a.issuer < b.issuer ? -1 : a.issuer > b.issuer ? 1 : 0)),
);

/**
 * Reports whether the client must reject every HTTP request, because a RequestAuthentication that selects it was
 * rejected and has no good version: which tokens are valid, where they are found, and which headers carry their claims
 * is unknown, so that a request with a forged header could not be told from an authenticated one.
 */
export const rejectsAllRequests = query("rejectsAllRequests", (q): boolean => {
  const root = rootNamespace(q);
  const others = q.keys(rejectedRequestAuthenticationsByNamespace).filter((namespace) => namespace !== root);
  const own = others.length === 0 ? undefined : q.ask(namespaceAmong, others);
  return [...(own === undefined ? [] : [own]), root].some((namespace) =>
    q
      .read(rejectedRequestAuthenticationsByNamespace, namespace)
      .some(({ spec }) => appliesToClient(q, { ...spec, namespace })),
  );
});

const requestAuthenticationsOf = query(
  "requestAuthenticationsOf",
  (q, namespace: string): readonly RequestAuthenticationObject[] =>
    [...q.read(requestAuthenticationsByNamespace, namespace)].sort(oldestFirst),
);
