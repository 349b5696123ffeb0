import fc from "fast-check";
import { object } from "./manifest.js";
import { cidrs, from, list, some, texts } from "../values.js";

const values = list(texts);
export const authorizationPolicy = object(
  "security.istio.io/v1",
  "AuthorizationPolicy",
  some({
    action: from("ALLOW", "DENY", "AUDIT"),
    rules: list(
      some({
        from: list(
          fc.record({
            source: some({
              principals: values,
              notPrincipals: values,
              requestPrincipals: values,
              namespaces: values,
              notNamespaces: values,
              serviceAccounts: values,
              ipBlocks: list(cidrs),
              remoteIpBlocks: list(cidrs),
              notIpBlocks: list(cidrs),
              trustDomains: values,
            }),
          }),
        ),
        to: list(
          fc.record({
            operation: some({
              hosts: values,
              notHosts: values,
              ports: list(from("80", "0", "65535", "080", "1e1")),
              methods: values,
              paths: list(
                fc.oneof(texts, from("/{*}", "/a/{**}/b", "/{**}", "{*}", "a/{**}", "/{*}*", "//{*}", "/a%zz{*}")),
              ),
              notPaths: values,
            }),
          }),
        ),
        when: list(
          some(
            {
              key: from(
                "request.headers[x-a]",
                "request.headers[]",
                "request.headers[:path]",
                "request.headers[a b]",
                "source.ip",
                "remote.ip",
                "source.namespace",
                "source.principal",
                "request.auth.principal",
                "request.auth.audiences",
                "request.auth.presenter",
                "request.auth.claims[a]",
                "request.auth.claims[a][b]",
                "request.auth.claims[][]",
                "request.auth.claims[a",
                "destination.ip",
                "destination.port",
                "connection.sni",
                "experimental.envoy.filters.a[b]",
                "experimental.envoy.filters.[b]",
                "experimental.envoy.filters.a[[b]]",
              ),
              values: list(fc.oneof(texts, cidrs, from("80"))),
              notValues: list(fc.oneof(texts, cidrs, from("80"))),
            },
            ["key"],
          ),
        ),
      }),
    ),
  }),
);
